// Tests WebDataset shards with real daemons, written by Python's tarfile and by webdataset itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kImages = 48, kShards = 3;

void WriteShards(const std::string& python, const std::string& format, const std::string& folder,
                 const std::string& images = Photographs(kImages)) {
  const std::string command = python + " " + PENSTOCK_WRITE_SHARDS + " " + format + " " + images +
                              " " + folder + " " + std::to_string(kShards);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

// Returns a Python that has webdataset, or "" if there is none.
std::string WebdatasetPython() {
  const std::string command = std::string(PENSTOCK_WEBDATASET_PYTHON);
  FILE* pipe = ::popen(command.c_str(), "r");
  char text[4096] = {};
  const size_t bytes = std::fread(text, 1, sizeof text - 1, pipe);
  if (::pclose(pipe) != 0) return "";
  std::string python(text, bytes);
  while (!python.empty() && python.back() == '\n') python.pop_back();
  return python;
}

Status Refusal(const std::string& address, const SessionOptions& options) {
  Client client = Client::Connect({.address = address}).OrDie();
  return client.Open(options).status();
}

std::string Text(const Batch& batch, size_t tensor, uint32_t row) {
  const TensorView view = batch.tensor(tensor);
  return std::string(reinterpret_cast<const char*>(view.data) + row * view.row_stride,
                     static_cast<size_t>(view.lengths[row]));
}

class TarTest : public ::testing::Test {
 protected:
  std::string Shards() const { return folder_.At("data/shard-{000..002}.tar"); }
  // Configures a daemon that serves the shards as "shards".
  std::string Config() const {
    return "server: {socket: SOCKET, group: '', state_dir: ''}\nsource: {retry_for: 2s}\n"
           "datasets:\n  - name: shards\n    tar: {shards: ['" +
           Shards() + "']}\n";
  }
  TempFolder folder_;
};

// ---- Refusals ----

TEST_F(TarTest, ACompressedShardIsRefusedWithTheReason) {
  folder_.Write("x.tar.gz", "\x1F\x8B\x08 and so on");
  DaemonProcess daemon({.workers = 1});

  const Status refused = Refusal(daemon.address(), SmallRows(folder_.At("x.tar.gz"), 8));

  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("compressed (gzip)"), HasSubstr("unpack it")));
}

TEST_F(TarTest, AFieldThatIsNotThereOrHasNoLengthIsRefusedInWords) {
  WriteShards("/usr/bin/python3", "ustar", folder_.At("data"));
  DaemonProcess daemon({.workers = 1});
  SessionOptions options = SmallRows(folder_.At("data"), 8);

  options.fields = {{.name = "caption"}};
  EXPECT_THAT(Refusal(daemon.address(), options).message(),
              AllOf(HasSubstr("'caption'"), HasSubstr("jpg, cls, txt, json")));
  options.fields = {{.name = "txt"}};
  EXPECT_THAT(Refusal(daemon.address(), options).message(), HasSubstr("at most"));
}

TEST_F(TarTest, AShardThatIsCutOffWhileItIsFedFailsTheFeedAtOnceAndNotTheDaemon) {
  WriteShards("/usr/bin/python3", "gnu", folder_.At("data"));
  DaemonProcess daemon({.workers = 1, .config = Config()});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows("shards", 4);
  options.window = 1;
  options.epochs = 0;
  Session session = client.Open(options).OrDie();
  Delivered delivered;
  ASSERT_TRUE(TakeBatches(session, 2, delivered).ok());

  fs::resize_file(folder_.At("data/shard-001.tar"), 5000);
  Status failed;
  for (int i = 0; i < 100 && failed.ok(); ++i)
    failed = session.Next(std::chrono::seconds(20)).status();

  EXPECT_THAT(failed.message(), AllOf(HasSubstr("shard-001.tar' changed since it was indexed"),
                                      HasSubstr("and is 5000")));
  EXPECT_TRUE(daemon.Status().serving());
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
  EXPECT_EQ(Refusal(daemon.address(), options).code(), Code::kInvalidArgument);  // truncated
}

// ---- Delivery ----

TEST_F(TarTest, TheSamePhotographsGiveTheSameBytesAsFromTheirFolder) {
  DaemonProcess daemon({.workers = 2});
  const Delivered from_folder = OneEpoch(daemon.address(), SmallRows(Photographs(kImages), 8));
  ASSERT_EQ(from_folder.rows.size(), size_t{kImages});

  for (const std::string format : {"ustar", "gnu", "pax"}) {
    WriteShards("/usr/bin/python3", format, folder_.At(format));
    EXPECT_TRUE(OneEpoch(daemon.address(), SmallRows(folder_.At(format), 8)) == from_folder)
        << format;
  }
}

TEST_F(TarTest, ShardsThatWebdatasetWroteGiveTheSameBytes) {
  const std::string python = WebdatasetPython();
  if (python.empty()) GTEST_SKIP() << "SKIPPED: webdataset cannot be had from PyPI";
  WriteShards(python, "webdataset", folder_.At("data"));
  DaemonProcess daemon({.workers = 2});

  const Delivered from_shards = OneEpoch(daemon.address(), SmallRows(Shards(), 8));

  EXPECT_TRUE(from_shards == OneEpoch(daemon.address(), SmallRows(Photographs(kImages), 8)));
}

TEST_F(TarTest, RealPhotographsGiveTheSameBytesAsFromTheirFolder) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "SKIPPED: no real photographs, set PENSTOCK_TEST_DATA";
  const std::string images = std::string(data) + "/imagenet-sample";
  WriteShards("/usr/bin/python3", "pax", folder_.At("data"), images);
  DaemonProcess daemon({.workers = 2});

  const Delivered from_shards = OneEpoch(daemon.address(), SmallRows(folder_.At("data"), 16));

  EXPECT_TRUE(from_shards == OneEpoch(daemon.address(), SmallRows(images, 16)));
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0);
}

TEST_F(TarTest, TextsTravelBesideTheirImages) {
  WriteShards("/usr/bin/python3", "pax", folder_.At("data"));
  DaemonProcess daemon({.workers = 2, .config = Config()});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows("shards", 5);
  options.fields = {{.name = "json", .max_length = 40}, {.name = "txt", .max_length = 100}};
  Session session = client.Open(options).OrDie();
  ASSERT_EQ(session.tensors().size(), 3u);
  EXPECT_EQ(session.tensors()[2].name, "txt");

  uint32_t rows = 0;
  for (auto batch = session.Next(); batch.ok(); batch = session.Next())
    for (uint32_t row = 0; row < batch->valid_rows(); ++row, ++rows) {
      const std::string number = std::to_string(batch->sample_ids()[row]);
      EXPECT_EQ(Text(*batch, 1, row), "{\"number\": " + number + "}");
      EXPECT_THAT(Text(*batch, 2, row), HasSubstr("caption " + number + " of "));
    }

  EXPECT_EQ(rows, uint32_t{kImages});
}

TEST_F(TarTest, ASampleWithoutTheTextOrWithALongerOneIsReplacedInThisFeedAlone) {
  WriteShards("/usr/bin/python3", "pax", folder_.At("data"));
  folder_.Write("data/shard-003.tar", TarFile("short.jpg", "whatever") + TarFile("short.cls", "0") +
                                          TarFile("long.jpg", "whatever") +
                                          TarFile("long.cls", "0") +
                                          TarFile("long.txt", std::string(101, 'x')));
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows(folder_.At("data"), 10);
  options.fields = {{.name = "txt", .max_length = 100}};
  Session session = client.Open(options).OrDie();
  Delivered delivered;

  ASSERT_TRUE(TakeBatches(session, 5, delivered).ok());

  EXPECT_EQ(delivered.rows.size(), size_t{kImages} + 2);
  EXPECT_THAT(daemon.log(), AllOf(HasSubstr("shard-003.tar#short): a field is missing"),
                                  HasSubstr("shard-003.tar#long): a field is too long")));
  EXPECT_EQ(daemon.Quarantine().entries_size(), 0) << "others may ask for less";
}

TEST_F(TarTest, SamplesWithoutAnImageComeAsTheyAre) {
  std::string shard;
  for (int i = 0; i < 20; ++i)
    shard += TarFile(std::to_string(i) + ".txt", "text " + std::to_string(i));
  folder_.Write("texts.tar", shard + TarEnd());
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options;
  options.dataset = folder_.At("texts.tar");
  options.batch_size = 4;
  options.epochs = 1;
  EXPECT_THAT(client.Open(options).status().message(), HasSubstr("available: txt"));
  options.fields = {{.name = "txt", .max_length = 16}};
  Session session = client.Open(options).OrDie();

  uint32_t rows = 0;
  for (auto batch = session.Next(); batch.ok(); batch = session.Next())
    for (uint32_t row = 0; row < batch->valid_rows(); ++row, ++rows)
      EXPECT_EQ(Text(*batch, 0, row), "text " + std::to_string(batch->sample_ids()[row]));

  EXPECT_EQ(rows, 20u);
}

TEST_F(TarTest, TheOperatorIndexesThemAndIsToldOfAnIndexThatIsNotRight) {
  WriteShards("/usr/bin/python3", "pax", folder_.At("data"));
  folder_.Write("data/shard-001.idx", "v1.2 1\njpg 512 10 a.jpg\n");
  DaemonProcess daemon({.workers = 1, .config = Config()});

  const Ended indexed = daemon.Ctl({"index", "shards"});

  EXPECT_EQ(indexed.exit_code, 0) << indexed.output;
  EXPECT_THAT(indexed.output, AllOf(HasSubstr("48 samples in"), HasSubstr("shard-001.idx")));
  EXPECT_THAT(daemon.Ctl({"datasets"}).output, HasSubstr("tar"));
}

}  // namespace
}  // namespace penstock::testing
