// Finished rows of validation through a real daemon: later epochs decode nothing and get the same
// bytes, whatever their order, and random transforms never get a kept row.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kImages = 120;

// What validation asks for.
SessionOptions Validation(uint32_t batch_size) {
  SessionOptions options;
  options.dataset = "photographs";
  options.batch_size = batch_size;
  options.center_crop = ResizeCenterCrop{.resize = 256, .height = 224, .width = 224};
  options.order = Order::kSequential;
  options.epochs = 1;
  return options;
}

// The rows by sample, whatever their places.
std::map<uint64_t, Delivered::Row> BySample(const Delivered& delivered) {
  std::map<uint64_t, Delivered::Row> rows;
  for (const auto& [place, row] : delivered.rows) rows.emplace(row.sample, row);
  return rows;
}

class KeptRowsTest : public ::testing::Test {
 protected:
  KeptRowsTest() { fs::copy(Photographs(kImages), photographs_, fs::copy_options::recursive); }

  DaemonProcess::Options Options(const std::string& cache) const {
    return {.workers = 2,
            .config = "server: {socket: SOCKET, group: '', state_dir: '" + folder_.At("state") +
                      "', metrics_address: '127.0.0.1:" + std::to_string(port_) +
                      "'}\npool: {max: 16MiB}\nworkers: {count: 2}\ncache: {" + cache +
                      "}\ndatasets: [{name: photographs, folder: " + photographs_ + "}]\n"};
  }
  double Value(const std::string& series) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // a page is shown for 100 ms
    return ValueOf(Scrape(port_), series);
  }
  double Served() const { return Value("penstock_kept_rows_served_total"); }

  const uint16_t port_ = FreePort();
  TempFolder folder_;
  const std::string photographs_ = folder_.At("photographs");
};

TEST_F(KeptRowsTest, LaterEpochsDecodeNothingAndHaveTheSameBytes) {
  DaemonProcess daemon(Options("memory: 64MiB"));
  const Delivered first = OneEpoch(daemon.address(), Validation(8));
  ASSERT_EQ(first.rows.size(), static_cast<size_t>(kImages));
  EXPECT_EQ(Served(), 0);

  SessionOptions shuffled = Validation(16);
  shuffled.order = Order::kShuffled;
  shuffled.seed = 99;
  const Delivered second = OneEpoch(daemon.address(), shuffled);
  EXPECT_EQ(Served(), kImages);
  EXPECT_TRUE(BySample(second) == BySample(first));

  SessionOptions of_rank = Validation(4);
  of_rank.rank = 1;
  of_rank.world_size = 3;
  const Delivered third = OneEpoch(daemon.address(), of_rank);
  EXPECT_EQ(third.rows.size(), static_cast<size_t>(kImages) / 3);
  EXPECT_EQ(Served(), kImages + kImages / 3);
  for (const auto& [sample, row] : BySample(third)) EXPECT_TRUE(BySample(first).at(sample) == row);
  EXPECT_EQ(Value("penstock_kept_row_bytes"), kImages * 224 * 224 * 3);
  EXPECT_EQ(Value("penstock_kept_rows_wrong_total"), 0);
}

TEST_F(KeptRowsTest, ASecondEpochNeedsNoFilesAnyMore) {
  DaemonProcess daemon(Options("memory: 64MiB"));
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = Validation(8);
  options.epochs = 2;
  Session session = client.Open(options).OrDie();
  Delivered first, second;
  ASSERT_EQ(TakeBatches(session, UINT64_MAX, first).code(), Code::kEndOfEpoch);
  fs::remove_all(photographs_);
  ASSERT_EQ(TakeBatches(session, UINT64_MAX, second).code(), Code::kEndOfEpoch);
  EXPECT_EQ(second.rows.size(), static_cast<size_t>(kImages));
  EXPECT_TRUE(BySample(second) == BySample(first));
  EXPECT_EQ(Served(), kImages);
}

TEST_F(KeptRowsTest, RandomTransformsAndOtherOnesNeverGetThem) {
  DaemonProcess daemon(Options("memory: 64MiB"));
  OneEpoch(daemon.address(), Validation(8));
  SessionOptions random = SmallRows("photographs", 8);
  OneEpoch(daemon.address(), random);
  OneEpoch(daemon.address(), random);
  SessionOptions flipped = Validation(8);
  flipped.flip_probability = 0.5;
  OneEpoch(daemon.address(), flipped);
  SessionOptions larger = Validation(8);
  larger.center_crop->resize = 300;
  OneEpoch(daemon.address(), larger);
  EXPECT_EQ(Served(), 0);
}

TEST_F(KeptRowsTest, WithLittleMemorySomeRowsAreDecodedAgain) {
  DaemonProcess daemon(Options("memory: 5MiB"));
  const Delivered first = OneEpoch(daemon.address(), Validation(8));
  const Delivered second = OneEpoch(daemon.address(), Validation(8));
  EXPECT_TRUE(second == first);
  EXPECT_EQ(Served(), 5 * 1024 * 1024 / (224 * 224 * 3));
  EXPECT_GT(Value("penstock_kept_rows_refused_total"), 0);
  EXPECT_LE(Value("penstock_kept_row_bytes"), Value("penstock_kept_row_max_bytes"));
}

TEST_F(KeptRowsTest, AFolderTakesWhatMemoryHasNoRoomFor) {
  fs::create_directory(folder_.At("kept"));
  DaemonProcess daemon(
      Options("memory: 5MiB, folder: " + folder_.At("kept") + ", folder_max: 100MiB"));
  const auto first = BySample(OneEpoch(daemon.address(), Validation(8)));
  EXPECT_TRUE(daemon.Eventually(
      [&] { return Value("penstock_kept_row_folder_bytes") >= (kImages - 34) * 224 * 224 * 3; }));
  EXPECT_TRUE(BySample(OneEpoch(daemon.address(), Validation(16))) == first);
  EXPECT_EQ(Served(), kImages);
  EXPECT_EQ(Value("penstock_kept_rows_wrong_total"), 0);
  EXPECT_TRUE(fs::is_empty(folder_.At("kept")));
}

TEST_F(KeptRowsTest, NothingIsKeptUnlessItIsAskedFor) {
  DaemonProcess daemon(Options("memory: 0B"));
  const Delivered first = OneEpoch(daemon.address(), Validation(8));
  EXPECT_TRUE(OneEpoch(daemon.address(), Validation(8)) == first);
  EXPECT_EQ(Served(), 0);
  EXPECT_EQ(Value("penstock_kept_row_bytes"), 0);
}

// Openings that come soon after another need not look at all files, but at those of kept rows.
TEST_F(KeptRowsTest, OfAFileThatHasChangedNothingOldIsDelivered) {
  DaemonProcess daemon(Options("memory: 64MiB"));
  const auto before = BySample(OneEpoch(daemon.address(), Validation(8)));
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(photographs_))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  ASSERT_GT(paths.size(), 2u);
  fs::copy_file(paths[0], paths[1], fs::copy_options::overwrite_existing);

  const auto after = BySample(OneEpoch(daemon.address(), Validation(8)));
  EXPECT_FALSE(after == before);
  daemon.Kill(SIGTERM);
  DaemonProcess fresh(Options("memory: 0B"));
  EXPECT_TRUE(BySample(OneEpoch(fresh.address(), Validation(8))) == after);
}

}  // namespace
}  // namespace penstock::testing
