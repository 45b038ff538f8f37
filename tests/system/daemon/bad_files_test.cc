// Files that are not photographs, or that exceed the limits, are replaced and reported with a
// reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/slow_jpeg.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int kImages = 24;

// Takes 0.6 to 3 s to decode, depending on the core. Made once, because that takes even longer.
const std::vector<std::byte>& SlowJpeg() {
  static const std::vector<std::byte> file = MakeSlowJpeg(1800);
  return file;
}

class BadFilesTest : public ::testing::Test {
 protected:
  BadFilesTest() {
    fs::copy(Photographs(kImages), folder_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) files_.push_back(entry.path());
    std::sort(files_.begin(), files_.end());
  }

  // The limits are just above what the dataset's valid files need.
  std::string Config() const {
    return "server: {socket: SOCKET, group: '', state_dir: " + scratch_.path() +
           "/state}\nlimits: {max_sample: 1MiB, max_pixels: 4000000, max_scans: 100000}\n"
           "workers: {sample_timeout: 200ms}\nsource: {roots: [" +
           folder_ + "]}\ndatasets: [{name: photographs, folder: " + folder_ + "}]\n";
  }

  void Write(int file, std::span<const std::byte> bytes) {
    std::ofstream(files_[file], std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void Write(int file, const std::string& text) { Write(file, std::as_bytes(std::span(text))); }

  // Returns the reasons that the daemon reports, by file.
  std::map<std::string, std::string> Reasons(DaemonProcess& daemon) {
    std::map<std::string, std::string> reasons;
    const v1::ListQuarantineResponse quarantine = daemon.Quarantine();
    for (const v1::QuarantineEntry& entry : quarantine.entries())
      for (const std::string& file : files_)
        if (file.ends_with(entry.path())) reasons[file] = entry.reason();
    return reasons;
  }

  TemporaryDirectory scratch_;
  const std::string folder_ = scratch_.path() + "/data";
  std::vector<std::string> files_;
};

TEST_F(BadFilesTest, EachKindIsReplacedByTheSameRowsEachTimeAndReportedWithItsReason) {
  Write(0, "");
  fs::resize_file(files_[1], fs::file_size(files_[1]) / 2);
  Write(2, "this is a text and not a photograph");
  fs::resize_file(files_[3], (1 << 20) + 1);  // still complete: bytes after its end are ignored
  Write(4, MakeJpeg(2001, 2000, {.horizontal = 2, .vertical = 2, .quality = 10}));
  Write(5, SlowJpeg());
  Write(6, "P7 WIDTH: a kind that is known and not decoded");
  ASSERT_LE(fs::file_size(files_[4]), 1u << 20);
  ASSERT_LE(fs::file_size(files_[5]), 1u << 20);
  DaemonProcess daemon({.workers = 1, .config = Config()});

  const Delivered got = OneEpoch(daemon.address(), SmallRows("photographs", 8));
  const Delivered again = OneEpoch(daemon.address(), SmallRows("photographs", 8));

  EXPECT_EQ(got.rows.size(), size_t{kImages});
  EXPECT_TRUE(again == got);
  const std::map<std::string, std::string> expected = {
      {files_[0], "empty"},           {files_[1], "truncated"},       {files_[2], "not an image"},
      {files_[3], "too many bytes"},  {files_[4], "too many pixels"}, {files_[5], "took too long"},
      {files_[6], "unsupported kind"}};
  EXPECT_EQ(Reasons(daemon), expected);
}

// The files are complete and valid, but have too many scans. This is not the worker's fault.
TEST_F(BadFilesTest, FilesWithTooManyScansCostTheirSamplesAndNoWorker) {
  constexpr int kScans = 14;
  for (int file = 0; file < kScans; ++file)
    Write(file, MakeJpeg(96, 64, {.progressive = true}, static_cast<uint32_t>(file)));
  DaemonProcess daemon({.workers = 1,
                        .config = "server: {socket: SOCKET, group: '', state_dir: ''}\n"
                                  "limits: {max_scans: 3, max_quarantined: 80%}\n"
                                  "datasets: [{name: photographs, folder: " +
                                  folder_ + "}]\n"});

  const Delivered got = OneEpoch(daemon.address(), SmallRows("photographs", 8));

  EXPECT_EQ(got.rows.size(), size_t{kImages});
  const std::map<std::string, std::string> reasons = Reasons(daemon);
  EXPECT_EQ(reasons.size(), size_t{kScans});
  for (const auto& [file, reason] : reasons) EXPECT_EQ(reason, "too many scans") << file;
  EXPECT_EQ(daemon.Status().worker_restarts(), 0u);
  EXPECT_TRUE(daemon.Status().serving()) << daemon.Status().reason();
}

TEST_F(BadFilesTest, TheOperatorSeesThemInTheQuarantineAndCanClearIt) {
  Write(0, "");
  Write(1, "this is a text and not a photograph");
  DaemonProcess daemon({.workers = 1, .config = Config()});
  OneEpoch(daemon.address(), SmallRows("photographs", 8));

  const Ended list = daemon.Ctl({"quarantine", "list"});
  const Ended cleared = daemon.Ctl({"quarantine", "clear", "photographs"});
  const Ended empty = daemon.Ctl({"-o", "json", "quarantine", "list"});

  EXPECT_EQ(list.exit_code, 0) << list.output;
  const auto named = [&](int file) { return fs::path(files_[file]).filename().string(); };
  EXPECT_THAT(list.output, ContainsRegex("empty .*" + named(0)));
  EXPECT_THAT(list.output, ContainsRegex("not an image .*" + named(1)));
  EXPECT_THAT(cleared.output, HasSubstr("2"));
  EXPECT_EQ(empty.exit_code, 0) << empty.output;
  EXPECT_TRUE(daemon.Quarantine().entries().empty()) << empty.output;
}

TEST_F(BadFilesTest, ASampleThatHeldUpWorkersIsNotTriedAgainAfterARestart) {
  Write(5, SlowJpeg());
  DaemonProcess daemon({.workers = 1, .config = Config()});
  const Delivered got = OneEpoch(daemon.address(), SmallRows("photographs", 8));
  EXPECT_EQ(daemon.Status().worker_restarts(), 2u);  // the sample was tried twice

  daemon.Kill(SIGTERM);
  daemon.Start();
  const Delivered again = OneEpoch(daemon.address(), SmallRows("photographs", 8));

  EXPECT_TRUE(again == got);
  EXPECT_EQ(daemon.Status().worker_restarts(), 0u);
  EXPECT_EQ(Reasons(daemon)[files_[5]], "took too long");
}

TEST_F(BadFilesTest, OneFailsTheSessionThatAskedForIt) {
  Write(0, "no photograph");
  DaemonProcess daemon({.workers = 1, .config = Config()});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows("photographs", kImages);
  options.fail_on_bad_sample = true;
  Session session = client.Open(options).OrDie();

  Delivered got;
  const Status status = TakeBatches(session, 10, got);

  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("not an image"));
}

TEST_F(BadFilesTest, TooManyFailTheFeedWithTheNumbers) {
  for (int file = 0; file < kImages; ++file) Write(file, "no photograph");
  DaemonProcess daemon({.workers = 1, .config = Config()});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session session = client.Open(SmallRows("photographs", 8)).OrDie();

  Delivered got;
  const Status status = TakeBatches(session, 10, got);

  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("10"));
}

TEST_F(BadFilesTest, MoreMayBeBadFromTheReloadOnAlsoOfAnOpenDataset) {
  for (int file = 0; file < kImages / 2; ++file) Write(file, "no photograph");
  const auto config_with = [this](const std::string& limit) {
    std::string config = Config();
    return config.replace(config.find("limits: {"), 9, "limits: {max_quarantined: " + limit + ", ");
  };
  DaemonProcess daemon({.workers = 1, .config = config_with("0%")});
  const auto epoch = [&daemon](uint32_t batch) {
    Client client = Client::Connect({.address = daemon.address()}).OrDie();
    Session session = client.Open(SmallRows("photographs", batch)).OrDie();
    Delivered got;
    return TakeBatches(session, kImages / batch, got).code();
  };
  EXPECT_EQ(epoch(8), Code::kDataLoss);

  daemon.Rewrite(config_with("50%"));
  ASSERT_EQ(daemon.Ctl({"reload"}).exit_code, 0);
  EXPECT_EQ(epoch(8), Code::kOk);

  daemon.Rewrite(config_with("0%"));
  ASSERT_EQ(daemon.Ctl({"reload"}).exit_code, 0);
  EXPECT_EQ(epoch(6), Code::kDataLoss);  // batches of 8 are in memory, replaced already
}

}  // namespace
}  // namespace penstock::testing
