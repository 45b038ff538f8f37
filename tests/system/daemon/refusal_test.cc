// Bad input: a clear error, and nothing lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/daemon_process.h"
#include "tests/support/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RefusalTest : public ::testing::Test {
 protected:
  // Expects that the session is refused, with the code and words, and that a right one still works.
  void ExpectRefused(SessionOptions options, Code code, ::testing::Matcher<std::string> message) {
    const Result<Session> refused = client_.Open(options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), code) << refused.status().ToString();
    EXPECT_THAT(refused.status().message(), message);
  }

  TemporaryDirectory scratch_;
  DaemonProcess daemon_{{.workers = 1}};
  Client client_ = Client::Connect({.address = daemon_.address()}).OrDie();
};

TEST_F(RefusalTest, BatchSizeZero) {
  ExpectRefused(SmallRows(Photographs(24), 0), Code::kInvalidArgument, HasSubstr("batch"));
}

TEST_F(RefusalTest, AMissingDataset) {
  ExpectRefused(SmallRows("/nonexistent/photographs", 4), Code::kNotFound,
                HasSubstr("/nonexistent/photographs"));
}

TEST_F(RefusalTest, AnUnknownName) {
  ExpectRefused(SmallRows("imagenet", 4), Code::kNotFound, HasSubstr("imagenet"));
}

TEST_F(RefusalTest, AnEmptyDataset) {
  ExpectRefused(SmallRows(scratch_.path(), 4), Code::kNotFound, HasSubstr(scratch_.path()));
}

TEST_F(RefusalTest, AnUnreadableDataset) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string folder = scratch_.path() + "/closed";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::none);
  ExpectRefused(SmallRows(folder, 4), Code::kPermissionDenied, HasSubstr(folder));
}

TEST_F(RefusalTest, AWindowLargerThanThePool) {
  SessionOptions options = SmallRows(Photographs(24), 4096);
  options.random_crop.height = options.random_crop.width = 2048;
  options.window = 256;
  ExpectRefused(options, Code::kResourceExhausted,
                AllOf(HasSubstr("window"), HasSubstr("GiB"), HasSubstr("smaller")));
}

TEST_F(RefusalTest, ARankOutsideTheWorld) {
  SessionOptions options = SmallRows(Photographs(24), 4);
  options.rank = 2;
  options.world_size = 2;
  ExpectRefused(options, Code::kInvalidArgument, HasSubstr("rank"));
}

TEST_F(RefusalTest, AStateOfAnotherFeed) {
  SessionOptions options = SmallRows(Photographs(24), 4);
  Session session = client_.Open(options).OrDie();
  (void)session.Next();
  options.state = session.state();
  options.flip_probability = 0.25;
  ExpectRefused(options, Code::kFailedPrecondition, HasSubstr("fingerprint"));
}

TEST_F(RefusalTest, BadFilesAreReplacedAndReportedWithTheirReasons) {
  const std::string folder = scratch_.path() + "/data";
  fs::copy(Photographs(24), folder, fs::copy_options::recursive);
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::ofstream(files[0], std::ios::trunc);
  fs::resize_file(files[1], fs::file_size(files[1]) / 2);
  std::ofstream(files[2], std::ios::trunc) << "this is a text and not a photograph";

  const Delivered got = OneEpoch(daemon_.address(), SmallRows(folder, 8));

  EXPECT_EQ(got.rows.size(), 24u);
  std::map<std::string, std::string> reasons;
  const v1::ListQuarantineResponse quarantine = daemon_.Quarantine();
  for (const v1::QuarantineEntry& entry : quarantine.entries())
    reasons[fs::path(entry.path()).filename()] = entry.reason();
  EXPECT_EQ(reasons.size(), 3u);
  EXPECT_EQ(reasons[fs::path(files[0]).filename()], "empty");
  EXPECT_EQ(reasons[fs::path(files[1]).filename()], "truncated");
  EXPECT_EQ(reasons[fs::path(files[2]).filename()], "not an image");
  const Delivered again = OneEpoch(daemon_.address(), SmallRows(folder, 8));
  EXPECT_TRUE(again == got);
}

TEST_F(RefusalTest, ABadSampleFailsTheSessionThatAskedForIt) {
  const std::string folder = scratch_.path() + "/data";
  fs::copy(Photographs(24), folder, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) {
      std::ofstream(entry.path(), std::ios::trunc) << "no photograph";
      break;
    }
  SessionOptions options = SmallRows(folder, 24);
  options.fail_on_bad_sample = true;
  Session session = client_.Open(options).OrDie();

  Delivered got;
  const Status status = TakeBatches(session, 10, got);

  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("not an image"));
}

TEST_F(RefusalTest, TooManyBadSamplesFailTheFeedWithTheNumbers) {
  const std::string folder = scratch_.path() + "/data";
  fs::copy(Photographs(24), folder, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::trunc) << "no photograph";
  Session session = client_.Open(SmallRows(folder, 8)).OrDie();

  Delivered got;
  const Status status = TakeBatches(session, 10, got);

  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("10"));
}

TEST_F(RefusalTest, ASecondDaemonOnTheSameSocketRefusesToStart) {
  const std::string program = fs::canonical("/proc/self/exe").parent_path() / "penstockd";
  const std::string output = scratch_.path() + "/output";
  const std::string command =
      program + " --private " + daemon_.directory() + "/run > " + output + " 2>&1";

  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);

  std::stringstream text;
  text << std::ifstream(output).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(std::to_string(daemon_.pid())));
  EXPECT_EQ(daemon_.Status().pid(), daemon_.pid());
}

TEST(ConfiguredTest, OnlyNamedDatasetsInsideTheRootsAreServed) {
  const std::string data = Photographs(24);
  TemporaryDirectory run;
  DaemonProcess daemon({.workers = 1,
                        .config = "server:\n  socket: SOCKET\n  group: \"\"\n  state_dir: " + run.path() +
                                  "\nsource:\n  roots: [" + data +
                                  "]\ndatasets:\n  - name: photographs\n    folder: " + data +
                                  "\n  - name: elsewhere\n    folder: /etc\n"});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), 24u);
  const Result<Session> path = client.Open(SmallRows(data, 8));
  EXPECT_EQ(path.status().code(), Code::kPermissionDenied) << path.status().ToString();
  const Result<Session> unknown = client.Open(SmallRows("flowers", 8));
  EXPECT_EQ(unknown.status().code(), Code::kNotFound);
  EXPECT_THAT(unknown.status().message(), HasSubstr("photographs"));
  const Result<Session> outside = client.Open(SmallRows("elsewhere", 8));
  EXPECT_EQ(outside.status().code(), Code::kPermissionDenied) << outside.status().ToString();
}

}  // namespace
}  // namespace penstock::testing
