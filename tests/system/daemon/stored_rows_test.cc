// Tests datasets whose rows need no decoding, with real daemons: MNIST's files and synthetic rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/finish/synthetic.h"
#include "server/plan/plan.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kImages = 500, kHeight = 20, kWidth = 30;
constexpr uint64_t kSeed = 11;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

SessionOptions Rows(const std::string& dataset, uint32_t batch_size = 64) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = batch_size;
  options.seed = kSeed;
  options.epochs = 1;
  return options;
}

Status Refusal(const std::string& address, const SessionOptions& options) {
  Client client = Client::Connect({.address = address}).OrDie();
  return client.Open(options).status();
}

class StoredRowsTest : public ::testing::Test {
 protected:
  StoredRowsTest() {
    folder_.Write("raw/train-images-idx3-ubyte", IdxImages(kImages, kHeight, kWidth));
    folder_.Write("raw/train-labels-idx1-ubyte", IdxLabels(kImages));
  }
  std::string images() const { return folder_.At("raw/train-images-idx3-ubyte"); }
  // Configures a daemon that serves the pair of files as "digits".
  std::string Config(const std::string& source) const {
    return "server: {socket: SOCKET, group: '', state_dir: ''}\nsource: " + source +
           "\ndatasets:\n  - name: digits\n    idx: {images: " + images() +
           ", labels: " + folder_.At("raw/train-labels-idx1-ubyte") + "}\n";
  }
  TempFolder folder_;
};

// ---- Refusals ----

TEST_F(StoredRowsTest, ADecodingIsOfImagesOfBytesAndPhotographsAreDecodedByDefault) {
  DaemonProcess daemon({.workers = 1});
  SessionOptions decoded = Rows(images()), tokens = Rows("synthetic:4x4x3,samples=8,classes=2");
  for (SessionOptions* options : {&decoded, &tokens}) {
    options->random_crop = {.height = 12, .width = 10};
  }

  const Status refused = Refusal(daemon.address(), tokens);

  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("(synthetic)"), HasSubstr("need no decoding")));
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  const Shape gray = client.Open(decoded).OrDie().shape();
  EXPECT_EQ(gray.height, 12u);
  EXPECT_EQ(gray.channels, 1u);
  Session photographs = client.Open(Rows(Photographs(24), 8)).OrDie();
  EXPECT_EQ(photographs.shape().height, 224u);
}

TEST_F(StoredRowsTest, ImagesWithoutLabelsSayWhatWasLookedFor) {
  fs::remove(folder_.At("raw/train-labels-idx1-ubyte"));
  DaemonProcess daemon({.workers = 1});

  EXPECT_THAT(Refusal(daemon.address(), Rows(images())).message(),
              HasSubstr("'train-labels-idx1-ubyte', 'train-labels-idx1-ubyte.gz'"));
}

TEST_F(StoredRowsTest, AFileThatIsCutOffWhileItIsFedFailsTheFeedAtOnceAndNotTheDaemon) {
  DaemonProcess daemon({.workers = 1, .config = Config("{}")});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = Rows("digits", 16);
  options.window = 1;
  Session session = client.Open(options).OrDie();
  Delivered delivered;
  ASSERT_TRUE(TakeBatches(session, 3, delivered).ok());

  fs::resize_file(images(), 10'000);
  Status failed;
  for (int i = 0; i < 100 && failed.ok(); ++i)
    failed = session.Next(std::chrono::seconds(20)).status();

  EXPECT_EQ(failed.code(), Code::kDataLoss);
  EXPECT_THAT(failed.message(), AllOf(HasSubstr(images()), HasSubstr("and is 10000")));
  EXPECT_TRUE(daemon.Status().serving());
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
  EXPECT_EQ(Refusal(daemon.address(), options).code(), Code::kInvalidArgument);  // truncated
}

TEST_F(StoredRowsTest, AFileThatIsGoneWhileItIsFedStallsThenFailsTheFeedAndNotTheDaemon) {
  DaemonProcess daemon({.workers = 1, .config = Config("{retry_for: 2s}")});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = Rows("digits", 16);
  options.window = 1;
  Session session = client.Open(options).OrDie();
  Delivered delivered;
  ASSERT_TRUE(TakeBatches(session, 3, delivered).ok());

  fs::remove(images());
  const bool stalled = daemon.Eventually([&] {
    (void)session.Next(std::chrono::milliseconds(0));  // takes the batches that were ready
    const v1::ListSessionsResponse all = daemon.Sessions();
    return all.sessions_size() == 1 && all.sessions(0).state().find("source stalled for") == 0 &&
           all.sessions(0).state().find("No such file") != std::string::npos;
  });
  const Status failed = session.Next(std::chrono::seconds(20)).status();

  EXPECT_TRUE(stalled);
  EXPECT_THAT(failed.message(), HasSubstr("check their storage"));
  EXPECT_TRUE(daemon.Status().serving());
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
}

// ---- Delivery ----

TEST_F(StoredRowsTest, OneTwoAndFourRowCopiersGiveTheSameBytesAsTheFile) {
  std::vector<Delivered> epochs;
  for (const std::string row_copiers : {"1", "2", "4"}) {
    DaemonProcess daemon({.workers = 1, .config = Config("{carriers: " + row_copiers + "}")});
    epochs.push_back(OneEpoch(daemon.address(), Rows("digits")));
  }

  EXPECT_EQ(epochs[0].rows.size(), size_t{kImages});
  EXPECT_TRUE(epochs[0] == epochs[1]);
  EXPECT_TRUE(epochs[0] == epochs[2]);
  for (uint64_t place = 0; place < kImages; ++place) {
    const Delivered::Row& row = epochs[0].rows.at({0, place});
    EXPECT_EQ(row.sample, plan::SampleAt(plan::Order::kShuffled, kImages, kSeed, 0, place));
    EXPECT_EQ(row.label, static_cast<int64_t>(3 * row.sample % 10));
  }
}

TEST_F(StoredRowsTest, AFolderAFileAndCompressedFilesAreOneDataset) {
  folder_.Write("packed/train-images-idx3-ubyte.gz", Gzip(IdxImages(kImages, kHeight, kWidth)));
  folder_.Write("packed/train-labels-idx1-ubyte.gz", Gzip(IdxLabels(kImages)));
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  const Delivered file = OneEpoch(daemon.address(), Rows(images()));

  EXPECT_TRUE(file == OneEpoch(daemon.address(), Rows(folder_.At("raw"))));
  EXPECT_TRUE(file == OneEpoch(daemon.address(), Rows(folder_.At("packed"))));
  const DatasetInfo info = client.Describe(folder_.At("packed")).OrDie();
  EXPECT_EQ(info.kind, "idx");
  EXPECT_EQ(info.row_shape.height, kHeight);
  EXPECT_EQ(info.row_shape.channels, 1u);
  EXPECT_THAT(daemon.Ctl({"datasets"}).output, HasSubstr("idx"));
}

TEST_F(StoredRowsTest, OneChannelIsFinishedWithItsMeanAndDeviation) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Rows(images(), 8)).OrDie();
  Batch batch = session.Next().OrDie();
  std::vector<float> finished(8 * kHeight * kWidth);

  ASSERT_TRUE(batch
                  .FinishInto({.mean = {0.5f}, .stddev = {0.25f}}, finished.data(),
                              finished.size() * sizeof(float))
                  .ok());

  for (size_t i = 0; i < finished.size(); ++i) {
    const float unit = static_cast<float>(batch.images()[i]) / 255.0f;
    ASSERT_EQ(finished[i], (unit - 0.5f) / 0.25f);
  }
}

TEST_F(StoredRowsTest, MnistIsWhatPythonReads) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "MNIST's files: PENSTOCK_TEST_DATA is not set";
  const std::string mnist = std::string(data) + "/mnist/";
  const std::string command = std::string("/usr/bin/python3 " PENSTOCK_READ_IDX " ") + mnist +
                              "t10k-images-idx3-ubyte.gz " + mnist + "t10k-labels-idx1-ubyte.gz " +
                              folder_.At("rows");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string rows = ReadAll(folder_.At("rows"));
  constexpr size_t kRow = 28 * 28 + 1;
  ASSERT_EQ(rows.size(), 10'000 * kRow);
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Rows(mnist, 256)).OrDie();

  uint64_t place = 0;
  while (auto batch = session.Next()) {
    for (uint32_t row = 0; row < batch->rows(); ++row, ++place) {
      const uint64_t sample = batch->sample_ids()[row];
      ASSERT_EQ(sample, plan::SampleAt(plan::Order::kShuffled, 10'000, kSeed, 0, place));
      const char* expected = rows.data() + sample * kRow;
      ASSERT_EQ(std::memcmp(batch->images().data() + row * (kRow - 1), expected, kRow - 1), 0);
      ASSERT_EQ(batch->labels()[row], static_cast<int64_t>(expected[kRow - 1]));
    }
  }

  EXPECT_EQ(place, 10'000u);
}

// ---- Synthetic rows ----

TEST(SyntheticRowsTest, ATextThatIsNotUnderstoodIsRefusedWithTheGrammar) {
  DaemonProcess daemon({.workers = 1});

  const Status refused = Refusal(daemon.address(), Rows("synthetic:224x224"));

  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("synthetic:HEIGHTxWIDTHxCHANNELS"));
}

TEST(SyntheticRowsTest, AnEpochIsMadeByItsConsumerAndTheDaemonSaysOfWhat) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = Rows("synthetic:6x7x3,samples=100,classes=10,seed=5", 32);
  Session session = client.Open(options).OrDie();
  std::vector<std::byte> bytes(32 * 6 * 7 * 3), expected(bytes.size()), copied(bytes.size());
  const Finish finish = {.type = Type::kUInt8, .layout = Layout::kNHWC};

  uint64_t place = 0;
  while (auto batch = session.Next()) {
    EXPECT_TRUE(batch->synthetic() && batch->images().empty() && !batch->on_device());
    const finish::Synthetic what = {
        .seed = 5, .first_sample = place, .samples = 100, .classes = 10};
    for (uint32_t row = 0; row < batch->rows(); ++row) {
      EXPECT_EQ(batch->sample_ids()[row], place + row);
      EXPECT_EQ(batch->labels()[row], finish::SyntheticLabel(what, place + row));
    }
    const size_t here = batch->FinishedBytes(finish);
    ASSERT_TRUE(batch->FinishInto(finish, bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(batch->CopyImages(copied.data(), copied.size()).ok());
    ASSERT_TRUE(finish::Synthesize(what, {Type::kUInt8, Layout::kNHWC, {}, {}}, batch->shape(),
                                   expected, {})
                    .ok());
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), here), 0);
    EXPECT_EQ(std::memcmp(copied.data(), expected.data(), here), 0);
    place += batch->rows();
  }

  EXPECT_EQ(place, 100u);
  EXPECT_EQ(daemon.Status().samples_decoded(), 0u);
}

// Only labels and sample ids need memory: a pool of 16 MiB serves batches of 150 MB.
TEST(SyntheticRowsTest, NothingIsKeptOfRowsThatNobodyStores) {
  TempFolder folder;
  DaemonProcess daemon(
      {.workers = 1,
       .config = "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 16MiB}\n"
                 "datasets: [{name: noise, synthetic: {samples: 4096}}]\n"});

  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Rows("noise", 1024)).OrDie();

  EXPECT_EQ(session.shape().height, 224u);
  EXPECT_EQ(session.Next()->rows(), 1024u);
  EXPECT_LE(daemon.Status().pool().segment_bytes(), 16u << 20);
  EXPECT_THAT(daemon.Ctl({"datasets"}).output, HasSubstr("synthetic"));
}

TEST(SyntheticRowsTest, NextIntoFillsMemoryOfTheCallersAndLabels) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Rows("synthetic:8x8x1,samples=64,classes=5", 16)).OrDie();
  std::vector<float> images(16 * 64);
  std::vector<int64_t> labels(16);

  const Result<Batch> batch =
      session.NextInto({}, {images.data(), images.size() * sizeof(float), labels.data()}, nullptr);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_GT(*std::max_element(images.begin(), images.end()), 0.9f);
  for (uint64_t row = 0; row < 16; ++row)
    EXPECT_EQ(labels[row], finish::SyntheticLabel({.classes = 5}, row));
}

}  // namespace
}  // namespace penstock::testing
