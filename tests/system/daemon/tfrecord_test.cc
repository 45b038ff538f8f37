// Tests TFRecord files with real daemons. A writer of the documented format makes the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "tests/support/files/record_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kImages = 48, kFiles = 3;

template <typename Number>
Number At(const Batch& batch, size_t tensor, uint32_t row, size_t element = 0) {
  const TensorView view = batch.tensor(tensor);
  Number number;
  std::memcpy(&number, view.data + row * view.row_stride + element * sizeof number, sizeof number);
  return number;
}

class TfRecordTest : public ::testing::Test {
 protected:
  TfRecordTest() {
    const std::string command = std::string("/usr/bin/python3 ") + PENSTOCK_WRITE_RECORDS + " " +
                                Photographs(kImages) + " " + folder_.At("data") + " " +
                                std::to_string(kFiles);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  // Configures a daemon that serves the files as "records".
  std::string Config() const {
    return "server: {socket: SOCKET, group: '', state_dir: ''}\n"
           "datasets:\n  - name: records\n    tfrecord: {shards: ['" +
           folder_.At("data/train-{00000..00002}-of-00003") + "']}\n";
  }
  TempFolder folder_;
};

TEST_F(TfRecordTest, ARecordWhoseChecksumIsWrongIsReplacedAndReported) {
  {
    std::fstream file(folder_.At("data/train-00001-of-00003"),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(600);  // in the first record's image
    file.put('\x55');
  }
  DaemonProcess daemon({.workers = 1, .config = Config()});

  const Delivered delivered = OneEpoch(daemon.address(), SmallRows("records", 8));

  EXPECT_EQ(delivered.rows.size(), size_t{kImages});
  const v1::ListQuarantineResponse quarantine = daemon.Quarantine();
  ASSERT_EQ(quarantine.entries_size(), 1);
  EXPECT_THAT(quarantine.entries(0).path(), HasSubstr("train-00001-of-00003#0"));
  EXPECT_THAT(quarantine.entries(0).reason(), HasSubstr("checksum is wrong"));
}

TEST_F(TfRecordTest, TheSamePhotographsGiveTheSameBytesAsFromTheirFolder) {
  DaemonProcess daemon({.workers = 2, .config = Config()});
  DaemonProcess by_path({.workers = 2});

  EXPECT_TRUE(OneEpoch(daemon.address(), SmallRows("records", 8)) ==
              OneEpoch(by_path.address(), SmallRows(Photographs(kImages), 8)));
}

TEST_F(TfRecordTest, BoxesBesideARandomCropAreRefusedUnlessWantedAsTheyAreStored) {
  DaemonProcess daemon({.workers = 1, .config = Config()});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows("records", 5);
  options.fields = {{.name = "image/object/bbox/xmin", .max_length = 2}};

  const Status refused = client.Open(options).status();
  options.random_crop = {};
  options.flip_probability = 0;
  options.center_crop = ResizeCenterCrop{.resize = 40, .height = 32, .width = 32};

  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("as_stored"));
  EXPECT_TRUE(client.Open(options).ok());
}

TEST_F(TfRecordTest, FeaturesTravelBesideTheirImages) {
  DaemonProcess daemon({.workers = 2, .config = Config()});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows("records", 5);
  options.fields = {{.name = "image/height"},
                    {.name = "image/object/bbox/xmin", .max_length = 2, .as_stored = true},
                    {.name = "image/class/text", .max_length = 32}};
  Session session = client.Open(options).OrDie();
  EXPECT_EQ(session.tensors()[1].type, DType::kInt64);
  EXPECT_EQ(session.tensors()[2].type, DType::kFloat32);

  uint32_t rows = 0;
  for (auto batch = session.Next(); batch.ok(); batch = session.Next())
    for (uint32_t row = 0; row < batch->valid_rows(); ++row, ++rows) {
      const auto number = static_cast<int64_t>(batch->sample_ids()[row]);
      EXPECT_EQ(At<int64_t>(*batch, 1, row), number);
      ASSERT_EQ(batch->tensor(2).lengths[row], number % 3);
      for (int64_t i = 0; i < number % 3; ++i)
        EXPECT_EQ(At<float>(*batch, 2, row, static_cast<size_t>(i)), static_cast<float>(i) + 0.5f);
      const TensorView text = batch->tensor(3);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.data) + row * text.row_stride,
                            static_cast<size_t>(text.lengths[row])),
                "caption " + std::to_string(number));
    }

  EXPECT_EQ(rows, uint32_t{kImages});
  EXPECT_THAT(daemon.Ctl({"datasets"}).output, HasSubstr("tfrecord"));
}

// ---- Records without images: rows of their features ----

constexpr int64_t kRecords = 3000, kRecordFiles = 3;

// Sample n has the integer n, the floats n/2 and -n/2, n modulo 4 copies of 10·n, and a text.
std::string FeaturesOf(int64_t n) {
  const auto half = static_cast<float>(n) / 2;
  return IntsFeature("number", {n}) + FloatsFeature("halves", {half, -half}) +
         IntsFeature("tens", std::vector<int64_t>(static_cast<size_t>(n % 4), 10 * n)) +
         BytesFeature("text", {"row " + std::to_string(n)}) +
         IntsFeature("image/class/label", {n % 7});
}

class RecordRowsTest : public ::testing::Test {
 protected:
  RecordRowsTest() {
    for (int64_t file = 0; file < kRecordFiles; ++file) WriteFile(file);
  }
  void WriteFile(int64_t file, int64_t without_halves = -1) {
    std::string records;
    for (int64_t n = file; n < kRecords; n += kRecordFiles)
      records += RecordBytes(ExampleOf(n == without_halves ? IntsFeature("image/class/label", {0}) +
                                                                 FloatsFeature("halves", {1, 2}) +
                                                                 IntsFeature("number", {n})
                                                           : FeaturesOf(n)));
    folder_.Write("rows/" + std::to_string(file) + ".tfrecord", records);
  }
  SessionOptions Options(uint32_t batch_size) const {
    SessionOptions options;
    options.dataset = folder_.At("rows");
    options.batch_size = batch_size;
    options.seed = 5;
    options.epochs = 1;
    options.fields = {{.name = "number"},
                      {.name = "halves"},
                      {.name = "tens", .max_length = 3},
                      {.name = "text", .max_length = 16}};
    return options;
  }
  TempFolder folder_;
};

// All bytes of each row, with labels, by position in the epoch.
using AllRows = std::map<uint64_t, std::string>;

Status Take(Session& session, int batches, AllRows& rows) {
  for (; batches > 0; --batches) {
    const Result<Batch> batch = session.Next(std::chrono::seconds(30));
    if (!batch.ok()) return batch.status();
    for (uint32_t row = 0; row < batch->valid_rows(); ++row) {
      std::string bytes = std::to_string(batch->labels()[row]);
      for (size_t i = 0; i < session.tensors().size(); ++i) {
        const TensorView view = batch->tensor(i);
        bytes.append(reinterpret_cast<const char*>(view.data) + row * view.row_stride,
                     view.row_stride);
        if (view.lengths != nullptr) bytes += std::to_string(view.lengths[row]);
      }
      rows[batch->first() + row] = bytes;
    }
  }
  return Status();
}

TEST_F(RecordRowsTest, EveryKindOfFeatureArrivesWithItsLengthAndLabel) {
  DaemonProcess daemon({.workers = 2});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Options(100)).OrDie();

  std::set<int64_t> seen;
  for (auto batch = session.Next(); batch.ok(); batch = session.Next())
    for (uint32_t row = 0; row < batch->valid_rows(); ++row) {
      const auto n = At<int64_t>(*batch, 0, row);
      seen.insert(n);
      EXPECT_EQ(batch->labels()[row], n % 7);
      EXPECT_EQ(At<float>(*batch, 1, row, 1), -static_cast<float>(n) / 2);
      ASSERT_EQ(batch->tensor(2).lengths[row], n % 4);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(At<int64_t>(*batch, 2, row, i), static_cast<int64_t>(i) < n % 4 ? 10 * n : 0);
      const TensorView text = batch->tensor(3);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.data) + row * text.row_stride, 16),
                ("row " + std::to_string(n) + std::string(16, '\0')).substr(0, 16));
    }

  EXPECT_EQ(seen.size(), size_t{kRecords});
}

TEST_F(RecordRowsTest, AnyNumberOfWorkersAndAWorkerKilledMeanwhileGiveTheSameBytes) {
  AllRows epochs[3];
  for (const int workers : {1, 3}) {
    DaemonProcess daemon({.workers = workers});
    Client client = Client::Connect({.address = daemon.address()}).OrDie();
    Session session = client.Open(Options(64)).OrDie();
    EXPECT_EQ(Take(session, 1000, epochs[workers / 2]).code(), Code::kEndOfEpoch);
  }
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Options(64)).OrDie();
  int killed = 0;
  for (int taken = 0; taken < 20; ++taken) {
    ASSERT_TRUE(Take(session, 2, epochs[2]).ok());
    if (taken % 5 != 0) continue;
    for (const pid_t pid : daemon.WorkerPids()) killed += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
  }
  EXPECT_EQ(Take(session, 1000, epochs[2]).code(), Code::kEndOfEpoch);

  EXPECT_GT(killed, 0);
  EXPECT_EQ(epochs[0].size(), size_t{kRecords});
  EXPECT_TRUE(epochs[0] == epochs[1]);
  EXPECT_TRUE(epochs[0] == epochs[2]);
}

TEST_F(RecordRowsTest, ARecordThatLacksAFieldFailsTheFeedWithItsNameAndHarmsNoOther) {
  WriteFile(1, 1501);
  DaemonProcess daemon({.workers = 2});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(Options(64)).OrDie();
  SessionOptions halves = Options(64);
  halves.fields = {{.name = "halves"}};
  Session unharmed = client.Open(halves).OrDie();

  Status failed;
  while (failed.ok()) failed = session.Next().status();
  AllRows rows;
  const Status ended = Take(unharmed, 1000, rows);

  EXPECT_EQ(failed.code(), Code::kDataLoss);
  EXPECT_THAT(failed.message(), AllOf(HasSubstr("rows/1.tfrecord#500"), HasSubstr("is missing")));
  EXPECT_EQ(ended.code(), Code::kEndOfEpoch);
  EXPECT_EQ(rows.size(), size_t{kRecords});
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
}

}  // namespace
}  // namespace penstock::testing
