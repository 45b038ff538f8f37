// Trainers of a real daemon receive exactly the array and token bytes that NumPy and Python wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "server/plan/plan.h"
#include "tests/support/files/array_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kLength = 64, kSamples = 300;
constexpr uint64_t kSeed = 5;
const std::vector<std::string> kTypes = {"bool",  "uint8",   "int8",    "uint16",
                                         "int16", "uint32",  "int32",   "uint64",
                                         "int64", "float16", "float32", "float64"};

SessionOptions Of(const std::string& dataset, uint32_t batch_size = 32) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = batch_size;
  options.seed = kSeed;
  options.epochs = 1;
  return options;
}

// The position of a tensor's bytes in the written rows: row i starts at i · stride + offset.
struct Expected {
  std::string rows;
  size_t stride = 0, offset = 0;
};

// Uses the output of write_arrays.py, made once for all tests.
class ArraysTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    const char* data = std::getenv("PENSTOCK_TEST_DATA");
    const std::string command = "/usr/bin/python3 " PENSTOCK_WRITE_ARRAYS " " + folder_->path() +
                                (data == nullptr ? "" : " " + std::string(data));
    written_ = std::system(command.c_str()) == 0;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (!written_) GTEST_SKIP() << "arrays: /usr/bin/python3 has no NumPy; install python3-numpy";
  }

  static std::string At(const std::string& name) { return folder_->At(name); }
  static std::string RowsOf(const std::string& name) { return folder_->Read(name + ".rows"); }

  // Takes an epoch and compares each tensor with the written rows. Returns the number of rows.
  static uint64_t Compare(Session& session, const std::vector<Expected>& expected) {
    const std::vector<Field> tensors = session.tensors();
    EXPECT_EQ(tensors.size(), expected.size());
    uint64_t rows = 0;
    while (auto batch = session.Next()) {
      for (size_t t = 0; t < expected.size(); ++t) {
        const TensorView view = batch->tensor(t);
        const size_t bytes = tensors[t].elements() * ElementBytes(tensors[t].type);
        for (uint32_t row = 0; row < batch->rows(); ++row) {
          const size_t at = batch->sample_ids()[row] * expected[t].stride + expected[t].offset;
          if (std::memcmp(view.data + row * view.row_stride, expected[t].rows.data() + at, bytes) !=
              0) {
            ADD_FAILURE() << tensors[t].name << " of sample " << batch->sample_ids()[row];
            return 0;
          }
        }
      }
      rows += batch->rows();
    }
    return rows;
  }

  static inline TempFolder* folder_ = nullptr;
  static inline bool written_ = false;
};

// ---- Refusals ----

TEST_F(ArraysTest, ACropOfTokensIsRefusedAndOtherFilesSayHowToAskForThem) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions cropped = Of("tokens:" + At("nanogpt.bin") + ",length=64");
  cropped.flip_probability = 0.5;

  EXPECT_THAT(client.Open(cropped).status().message(), HasSubstr("(tokens)"));
  EXPECT_THAT(client.Open(Of(At("nanogpt.bin"))).status().message(),
              HasSubstr("tokens:/FILE,length=N"));
}

TEST_F(ArraysTest, ATokenBeyondTheVocabularyEndsTheFeedAtOnceAndNotTheDaemon) {
  std::vector<uint16_t> tokens = CountUp<uint16_t>(10'000);
  for (uint16_t& token : tokens) token %= 100;
  tokens[5'000] = 100;
  folder_->Write("bad.bin", LittleEndian(tokens));
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session =
      client.Open(Of("tokens:" + At("bad.bin") + ",length=9,vocabulary=100", 16)).OrDie();

  Delivered delivered;
  const Status failed = TakeBatches(session, UINT64_MAX, delivered);

  EXPECT_THAT(failed.message(),
              AllOf(HasSubstr("bad.bin': the token at byte 10000, of sample 555, is 100"),
                    HasSubstr("wanted 0 to 99")));
  EXPECT_TRUE(daemon.Status().serving());
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
}

// ---- Delivery ----

TEST_F(ArraysTest, ArraysOfEveryTypeAreTensorsWithTheBytesThatNumPySaved) {
  std::string text = "npy:label=" + At("label.npy") + ",scalar=" + At("scalar.npy");
  std::vector<Expected> expected = {{RowsOf("scalar"), 8, 0}};
  for (const std::string& type : kTypes) {
    text += "," + type + "=" + At(type + ".npy");
    const std::string rows = RowsOf(type);
    expected.push_back({rows, rows.size() / kSamples, 0});
  }
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  Session session = client.Open(Of(text)).OrDie();
  const std::vector<Field> tensors = session.tensors();

  ASSERT_EQ(tensors.size(), kTypes.size() + 1);
  EXPECT_TRUE(tensors[0].shape.empty());
  for (size_t t = 0; t < kTypes.size(); ++t) {
    EXPECT_EQ(DTypeName(tensors[t + 1].type), kTypes[t]);
    EXPECT_EQ(tensors[t + 1].shape, (std::vector<uint32_t>{3, 5}));
  }
  EXPECT_EQ(Compare(session, expected), kSamples);
}

TEST_F(ArraysTest, AnArrayOfImagesIsShownLikeImagesByItsPathOrItsName) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  for (const std::string& text :
       {At("image.npy"), "npy:image=" + At("image.npy") + ",label=" + At("label.npy")}) {
    const DatasetInfo info = client.Describe(text).OrDie();
    EXPECT_EQ(info.kind, "npy");
    EXPECT_EQ(info.row_shape.height, 8u);
    EXPECT_EQ(info.row_shape.width, 9u);
    EXPECT_EQ(info.row_shape.channels, 3u);
    Session session = client.Open(Of(text)).OrDie();
    EXPECT_EQ(Compare(session, {{RowsOf("image"), 8 * 9 * 3, 0}}), kSamples);
  }
}

TEST_F(ArraysTest, MnistAsArraysIsWhatItIsAsIdxFiles) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "MNIST's files: PENSTOCK_TEST_DATA is not set";
  DaemonProcess daemon({.workers = 1});

  const Delivered arrays = OneEpoch(
      daemon.address(),
      Of("npy:image=" + At("mnist-images-idx3.npy") + ",label=" + At("mnist-labels-idx1.npy"),
         256));

  EXPECT_EQ(arrays.rows.size(), 10'000u);
  EXPECT_TRUE(arrays == OneEpoch(daemon.address(), Of(std::string(data) + "/mnist", 256)));
}

TEST_F(ArraysTest, TokensOfEveryFormatAreTheWindowsThatNumPySlices) {
  const std::tuple<std::string, std::string, size_t> formats[] = {
      {"nanogpt", "nanogpt.bin,length=64,vocabulary=50257", 2},
      {"gpt2", "gpt2.bin,length=64,stride=17,vocabulary=50257", 2},
      {"llama3", "llama3.bin,length=64", 4},
      {"array", "array.npy,length=64,vocabulary=50257", 8},
      {"megatron", "megatron.bin,length=64", 2},
      {"documents", "megatron.idx,length=64,documents=true", 2},
  };
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  for (const auto& [name, text, token] : formats) {
    const std::string rows = RowsOf(name);
    const size_t row = (kLength + 1) * token;
    Session session = client.Open(Of("tokens:" + At(text))).OrDie();
    EXPECT_EQ(Compare(session, {{rows, row, 0}, {rows, row, token}}), rows.size() / row) << name;
  }
}

TEST_F(ArraysTest, OfDocumentsTheLengthsSayHowManyTokensAndTargetsCount) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session =
      client.Open(Of("tokens:" + At("megatron.bin") + ",length=64,documents=true")).OrDie();
  const std::string expected[] = {RowsOf("tokens.lengths"), RowsOf("targets.lengths")};
  std::vector<int32_t> lengths(expected[0].size() / sizeof(int32_t));

  uint64_t rows = 0, shorter = 0;
  while (auto batch = session.Next()) {
    rows += batch->rows();
    for (size_t t = 0; t < 2; ++t) {
      std::memcpy(lengths.data(), expected[t].data(), expected[t].size());
      for (uint32_t row = 0; row < batch->rows(); ++row) {
        const int32_t length = batch->tensor(t).lengths[row];
        ASSERT_EQ(length, lengths.at(batch->sample_ids()[row]));
        if (length < static_cast<int32_t>(kLength)) ++shorter;
      }
    }
  }

  EXPECT_TRUE(session.tensors()[0].variable);
  EXPECT_EQ(rows, lengths.size());
  EXPECT_GT(shorter, 0u);
}

TEST_F(ArraysTest, AConfiguredDatasetOfTokensIsServedInThePlansOrderByAnyNumberOfRowCopiers) {
  const std::string rows = RowsOf("nanogpt");
  const uint64_t samples = rows.size() / (2 * (kLength + 1));
  for (const std::string row_copiers : {"1", "3"}) {
    DaemonProcess daemon({.workers = 1,
                          .config = "server: {socket: SOCKET, group: '', state_dir: ''}\n"
                                    "source: {carriers: " +
                                    row_copiers +
                                    "}\ndatasets:\n  - name: text\n    tokens: {files: [" +
                                    At("nanogpt.bin") + "], length: 64}\n"});
    Client client = Client::Connect({.address = daemon.address()}).OrDie();
    Session session = client.Open(Of("text", 100)).OrDie();
    const Batch first = session.Next().OrDie();
    for (uint32_t row = 0; row < first.rows(); ++row)
      ASSERT_EQ(first.sample_ids()[row],
                plan::SampleAt(plan::Order::kShuffled, samples, kSeed, 0, row));
    EXPECT_FALSE(client.Describe("text").OrDie().labeled);
  }
}

}  // namespace
}  // namespace penstock::testing
