// Private daemons are killed at each step of their start. Their client hears of it; the next
// client starts another one, which serves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/posix/fd.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"
#include "tests/system/failpoints/counts_file.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

class PrivateDaemonFailpointsTest : public ::testing::TestWithParam<const char*> {
 protected:
  PrivateDaemonFailpointsTest() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // daemons become our children, and can be waited for
    unsetenv("PENSTOCK_ADDRESS");
    setenv("XDG_RUNTIME_DIR", runtime_.path().c_str(), 1);
    setenv("PENSTOCK_DAEMON", ProgramPath("penstockd").c_str(), 1);
  }
  ~PrivateDaemonFailpointsTest() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    if (const pid_t daemon = Daemon(); daemon > 0) kill(daemon, SIGTERM);
    EXPECT_TRUE(EndsSoon()) << "processes of killed daemons are left";
  }

  // Who holds its lock; 0: nobody.
  pid_t Daemon() const {
    const posix::Fd lock(
        ::open(runtime_.At("penstock/penstock.sock.lock").c_str(), O_RDWR | O_CLOEXEC));
    struct flock whole {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0
    };
    const bool is_held = ::fcntl(lock.get(), F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    return is_held ? whole.l_pid : 0;
  }
  bool EndsSoon() const {
    const auto until = steady_clock::now() + std::chrono::seconds(10);
    while (steady_clock::now() < until) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
      if (waitpid(-1, nullptr, WNOHANG) < 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  // All of an epoch, from whatever daemon there is.
  Delivered Epoch() const {
    Delivered delivered;
    auto client = Client::Connect({.only_private = true});
    if (!client.ok()) return delivered;
    auto session = client->Open(SmallRows(Photographs(16), 8));
    if (session.ok()) (void)TakeBatches(*session, UINT64_MAX, delivered);
    return delivered;
  }

  TempFolder runtime_;
  CountsFile counts_{runtime_.At("counts"), 0};
};

TEST_P(PrivateDaemonFailpointsTest, TheNextClientIsServed) {
  const std::string terms = std::string(GetParam()) + "=kill";
  setenv("PENSTOCK_FAILPOINTS", terms.c_str(), 1);
  EXPECT_LT(Epoch().rows.size(), 16u) << "the first client was served; " << terms;
  EXPECT_GE(counts_.Acted()[GetParam()], 1) << "was not killed; " << terms;
  unsetenv("PENSTOCK_FAILPOINTS");

  EXPECT_EQ(Epoch().rows.size(), 16u) << terms;
}

// While it listens at one of its sockets or at none. Beyond, its client tries again and again.
INSTANTIATE_TEST_SUITE_P(Points, PrivateDaemonFailpointsTest,
                         ::testing::Values("address.locked", "address.bound",
                                           "start.addresses_claimed", "start.proofs_run",
                                           "start.runner_started", "start.doorway_open"));

}  // namespace
}  // namespace penstock::testing
