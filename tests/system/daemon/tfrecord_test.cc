// TFRecord files with real daemons, as a writer of their documented layout makes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

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
  // A daemon that serves the files as "records".
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

}  // namespace
}  // namespace penstock::testing
