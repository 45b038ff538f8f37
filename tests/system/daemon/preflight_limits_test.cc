// What the kernel allows a process: a start that would end for want of it is refused by name, and
// `penstockd --check-config` says the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/posix/machine.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uid_t kAnyUser = 65534;

class PreflightLimitsTest : public ::testing::Test {
 protected:
  PreflightLimitsTest() {
    fs::permissions(scratch_.path(), fs::perms(0755));
    fs::create_directory(home_);
    if (!nobody_.IsOurs()) {
      EXPECT_EQ(chown(home_.c_str(), kAnyUser, kAnyUser), 0);
    }
    Write("");
  }

  void Write(const std::string& state_dir, const std::string& pool = "16MiB") {
    std::ofstream(file_) << "server:\n  socket: " << home_ << "/run/s.sock\n  group: ''\n"
                         << "  state_dir: '" << state_dir << "'\n  drain_for: 0s\n"
                         << "pool: {max: " << pool << "}\nworkers: {count: 1}\ngpu: {max: 0B}\n";
  }
  // What penstockd says with this option of prlimit(1).
  Ended Limited(const std::string& limit, const std::string& action) {
    return RunProgram("/usr/bin/prlimit", {limit, ProgramPath("penstockd"), action, file_},
                      nobody_);
  }
  void ExpectRefused(const std::string& limit, const std::string& words) {
    SCOPED_TRACE(limit);
    const Ended checked = Limited(limit, "--check-config");
    const Ended started = Limited(limit, "--config");
    EXPECT_EQ(checked.exit_code, 2);
    EXPECT_EQ(started.exit_code, 2);
    EXPECT_EQ(checked.output, started.output);
    EXPECT_THAT(checked.output, HasSubstr("penstockd: " + file_ + ": "));
    EXPECT_THAT(checked.output, HasSubstr(words));
  }

  const TemporaryDirectory scratch_;
  const std::string home_ = scratch_.path() + "/home", file_ = scratch_.path() + "/penstock.yaml";
  const Identity nobody_ = {.user = geteuid() == 0 ? kAnyUser : 0};
};

TEST_F(PreflightLimitsTest, TooSmallOnesAreNamed) {
  ExpectRefused("--nofile=16", "the limit on open files is 16, and a daemon needs 128; raise it");
  ExpectRefused("--fsize=1000", "LimitFSIZE=");
#if !defined(PENSTOCK_ASAN) && !defined(PENSTOCK_TSAN)
  ExpectRefused("--stack=524288", "LimitSTACK=");
  ExpectRefused("--data=100000000", "LimitDATA=");
  ExpectRefused("--as=600000000", "LimitAS=");
#endif
}

TEST_F(PreflightLimitsTest, TooFewThreadsAreNamed) {
  if (nobody_.IsOurs()) GTEST_SKIP() << "needs root, whose threads are not limited";
  ExpectRefused("--nproc=5", "LimitNPROC=");
}

// The limit is what a daemon without a cache needs.
TEST_F(PreflightLimitsTest, TooFewThreadsForTheCachesFolderAreNamed) {
  if (nobody_.IsOurs()) GTEST_SKIP() << "needs root, whose threads are not limited";
  const uint32_t cores = posix::ReadMachine().Cores();
  const uint32_t enough = 30 + 2 * cores + std::min(cores / 4, 8u);
  std::ofstream(file_, std::ios::app)
      << "cache: {folder: " << home_ << "/kept, folder_max: 64MiB}\n";

  ExpectRefused(absl::StrCat("--nproc=", enough), "LimitNPROC=");
}

TEST_F(PreflightLimitsTest, OpenFilesAreRaisedAsFarAsTheyMayBe) {
  EXPECT_EQ(Limited("--nofile=16:4096", "--check-config").exit_code, 0);
}

// A daemon serves without one, too.
TEST_F(PreflightLimitsTest, AStateFolderThatCannotBeWrittenIsSaid) {
  fs::create_directory(scratch_.path() + "/closed");
  fs::permissions(scratch_.path() + "/closed", fs::perms(0555));
  Write(scratch_.path() + "/closed/state");

  const Ended checked = RunProgram("penstockd", {"--check-config", file_}, nobody_);

  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_THAT(checked.output, HasSubstr(": ok"));
  EXPECT_THAT(checked.output, HasSubstr("/closed: Permission denied"));
}

TEST_F(PreflightLimitsTest, APoolThatIsLargerThanTheMemoryIsSaid) {
  Write("", "60TiB");

  const Ended checked = RunProgram("penstockd", {"--check-config", file_}, nobody_);

  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_THAT(checked.output, HasSubstr("pool.max is 60.0 TiB"));
}

}  // namespace
}  // namespace penstock::testing
