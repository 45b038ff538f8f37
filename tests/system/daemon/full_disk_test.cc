// Tests a full disk under the daemon's cached dataset data. The disk is a small tmpfs in the test's
// own mount namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr int kImages = 24;

class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(Disk());
    const bool ours = ::unshare(CLONE_NEWNS) == 0 &&
                      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mount("tmpfs", Disk().c_str(), "tmpfs", 0, "size=64k,mode=755") == 0;
    if (!ours) GTEST_SKIP() << "only root can mount a disk";
  }
  void TearDown() override { ::umount2(Disk().c_str(), MNT_DETACH); }

  std::string Disk() const { return scratch_.path() + "/disk"; }
  void Fill() const {
    std::ofstream file(Disk() + "/filler", std::ios::binary);
    while (file.write(std::string(512, 'x').data(), 512).flush()) {
    }
  }
  std::string Config() const {
    return "server: {socket: SOCKET, group: '', state_dir: " + Disk() + "/state}\n" +
           "pool: {max: 16MiB}\ndatasets: [{name: photographs, folder: " + Photographs(kImages) +
           "}]\n";
  }

  TemporaryDirectory scratch_;
};

TEST_F(FullDiskTest, MeansNoIndexIsKeptAndAWarningAndTrainersAreFed) {
  Fill();
  DaemonProcess daemon({.workers = 1, .config = Config()});

  const Ended indexed = daemon.Ctl({"index", "photographs"});

  EXPECT_EQ(indexed.exit_code, 0) << indexed.output;
  EXPECT_THAT(indexed.output, HasSubstr("warning: "));
  EXPECT_THAT(indexed.output, HasSubstr("No space left on device"));
  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("photographs", 8)).rows.size(), size_t{kImages});
  EXPECT_THAT(daemon.log(), HasSubstr("No space left on device"));
}

TEST_F(FullDiskTest, OnceThereIsRoomTheNextDaemonKeepsItsIndexAgain) {
  Fill();
  DaemonProcess daemon({.workers = 1, .config = Config()});
  EXPECT_THAT(daemon.Ctl({"index", "photographs"}).output, HasSubstr("warning: "));

  fs::remove(Disk() + "/filler");
  for (int start = 0; start < 2; ++start) {
    daemon.Kill(SIGTERM);
    daemon.Start();
    const Ended indexed = daemon.Ctl({"index", "photographs"});
    EXPECT_THAT(indexed.output, Not(HasSubstr("warning")));
    EXPECT_EQ(indexed.output.find("was up to date") != std::string::npos, start == 1)
        << indexed.output;
  }
}

}  // namespace
}  // namespace penstock::testing
