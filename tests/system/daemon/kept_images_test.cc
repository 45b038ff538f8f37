// Decoded images of random crops through a real daemon: later epochs make their rows of kept
// images, and get the bytes that they would have got without.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kImages = 60;

// The seed makes each feed another, so that none finds batches of another in the pool.
SessionOptions Crops(uint64_t seed) {
  SessionOptions options = SmallRows("photographs", 4);
  options.random_crop = RandomResizedCrop{.height = 64, .width = 48};
  options.flip_probability = 0.5;
  options.order = Order::kShuffled;
  options.seed = seed;
  options.epochs = 1;
  return options;
}

class KeptImagesTest : public ::testing::Test {
 protected:
  KeptImagesTest() { fs::copy(Photographs(kImages), photographs_, fs::copy_options::recursive); }

  DaemonProcess::Options Options(const std::string& decoded) const {
    return {.workers = 2,
            .config = "server: {socket: SOCKET, group: '', state_dir: '" + folder_.At("state") +
                      "', metrics_address: '127.0.0.1:" + std::to_string(port_) +
                      "'}\npool: {max: 16MiB}\nworkers: {count: 2}\ncache: {decoded: " + decoded +
                      "}\ndatasets: [{name: photographs, folder: " + photographs_ +
                      "}, {name: first, folder: " + photographs_ +
                      ", range: 0..30}, {name: second, folder: " + photographs_ +
                      ", range: 30..60}, {name: one, mixture: {parts: [{dataset: first, weight: "
                      "1}]}}, {name: other, mixture: {parts: [{dataset: second, weight: 1}]}}]\n"};
  }
  double Value(const std::string& series) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // a page is shown for 100 ms
    return ValueOf(Scrape(port_), series);
  }
  double Served() const { return Value("penstock_kept_images_served_total"); }
  // What a daemon delivers that keeps nothing.
  std::vector<Delivered> Plain(std::initializer_list<SessionOptions> sessions) {
    DaemonProcess daemon(Options("0B"));
    std::vector<Delivered> all;
    for (const SessionOptions& options : sessions)
      all.push_back(OneEpoch(daemon.address(), options));
    EXPECT_EQ(Served(), 0);
    return all;
  }

  const uint16_t port_ = FreePort();
  TempFolder folder_;
  const std::string photographs_ = folder_.At("photographs");
};

TEST_F(KeptImagesTest, LaterEpochsUseThemAndHaveTheSameBytes) {
  SessionOptions gray = Crops(3);
  gray.color = Color::kGray;
  SessionOptions steps = Crops(4);
  steps.center_crop = ResizeCenterCrop{.resize = 80, .height = 64, .width = 64};
  steps.random_crop.reset();
  const std::vector<Delivered> expected = Plain({Crops(1), Crops(2), gray, steps});

  DaemonProcess daemon(Options("200MiB"));
  EXPECT_TRUE(OneEpoch(daemon.address(), Crops(1)) == expected[0]);
  EXPECT_EQ(Served(), 0);
  EXPECT_TRUE(daemon.Eventually([&] { return Value("penstock_kept_image_bytes") > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(OneEpoch(daemon.address(), Crops(2)) == expected[1]);
  EXPECT_EQ(Served(), kImages);
  EXPECT_TRUE(OneEpoch(daemon.address(), gray) == expected[2]);
  EXPECT_TRUE(OneEpoch(daemon.address(), steps) == expected[3]);
  EXPECT_EQ(Served(), 3 * kImages);
  EXPECT_EQ(Value("penstock_kept_images_wrong_total"), 0);
  EXPECT_EQ(Value("penstock_kept_images_refused_total"), 0);
}

TEST_F(KeptImagesTest, WithLittleMemorySomeAreDecodedAgain) {
  const std::vector<Delivered> expected = Plain({Crops(1), Crops(2)});

  DaemonProcess daemon(Options("5MiB"));
  EXPECT_TRUE(OneEpoch(daemon.address(), Crops(1)) == expected[0]);
  EXPECT_TRUE(OneEpoch(daemon.address(), Crops(2)) == expected[1]);
  EXPECT_LT(Served(), kImages);
  EXPECT_LE(Value("penstock_kept_image_bytes"), Value("penstock_kept_image_max_bytes"));
}

// Both number their samples from 0, of the same files.
TEST_F(KeptImagesTest, MixturesOfTheSameFilesHaveImagesOfTheirOwn) {
  SessionOptions one = Crops(1), other = Crops(1);
  one.dataset = "one";
  other.dataset = "other";
  const std::vector<Delivered> expected = Plain({one, other});
  ASSERT_FALSE(expected[0] == expected[1]);

  DaemonProcess daemon(Options("200MiB"));
  EXPECT_TRUE(OneEpoch(daemon.address(), one) == expected[0]);
  EXPECT_TRUE(OneEpoch(daemon.address(), other) == expected[1]);
}

// Every use of a kept image is behind an opening of its file.
TEST_F(KeptImagesTest, AFileThatHasChangedIsNeverServedAsItWas) {
  DaemonProcess daemon(Options("200MiB"));
  const Delivered before = OneEpoch(daemon.address(), Crops(1));
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(photographs_))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  fs::copy_file(paths[0], paths[1], fs::copy_options::overwrite_existing);

  const Delivered after = OneEpoch(daemon.address(), Crops(2));
  daemon.Kill(SIGTERM);
  EXPECT_TRUE(Plain({Crops(2)})[0] == after);
}

// A session that is open when the file changes fails, as it would without kept images.
TEST_F(KeptImagesTest, AFileThatChangesInMidSessionEndsTheFeed) {
  DaemonProcess daemon(Options("200MiB"));
  OneEpoch(daemon.address(), Crops(1));
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = Crops(2);
  options.epochs = 10;
  options.window = 2;
  Session session = client.Open(options).OrDie();
  Delivered some;
  ASSERT_TRUE(TakeBatches(session, 2, some).ok());
  for (const auto& entry : fs::recursive_directory_iterator(photographs_))
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::app) << "more";
  const Status status = TakeBatches(session, 1000, some);
  EXPECT_NE(status.code(), Code::kOk);
  EXPECT_NE(status.code(), Code::kEndOfEpoch);
}

TEST_F(KeptImagesTest, WorkersThatAreKilledLoseNothing) {
  const std::vector<Delivered> expected = Plain({Crops(1), Crops(2), Crops(5)});
  DaemonProcess daemon(Options("200MiB"));
  for (size_t i = 0; i < 3; ++i) {
    std::thread killer([&] {
      for (int times = 0; times < 3; ++times) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        for (const pid_t worker : daemon.WorkerPids()) ::kill(worker, SIGKILL);
      }
    });
    EXPECT_TRUE(OneEpoch(daemon.address(), Crops(i == 2 ? 5 : i + 1)) == expected[i]);
    killer.join();
  }
  EXPECT_EQ(Value("penstock_kept_images_wrong_total"), 0);
}

}  // namespace
}  // namespace penstock::testing
