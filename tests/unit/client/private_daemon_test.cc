// Starting this user's private daemon. This program itself, started with --private, is the daemon.
#include "client/src/connection/private_daemon.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "client/src/connection/address.h"
#include "common/posix/socket.h"

namespace penstock::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kBehaviour[] = "PENSTOCK_TEST_BEHAVIOUR";

// Runs as the daemon: records its start, then listens or fails as the environment says.
int BeTheDaemon(const std::string& directory) {
  std::ofstream(directory + "/starts", std::ios::app) << ::getpid() << ' ' << ::getsid(0) << '\n';
  if (std::getenv(kBehaviour) == std::string("fail")) {
    std::cerr << "level=info event=starting\nlevel=error event=no_memory\n";
    return 1;
  }
  const std::string address = directory + "/penstock.sock";
  const int lock = ::open((address + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    std::cerr << "a daemon serves already\n";
    return 1;
  }
  const auto door = posix::Listen(address + ".door", posix::SocketKind::kSeqPacket);
  const auto stream = posix::Listen(address, posix::SocketKind::kStream);
  ::alarm(30);  // ends this process even if the test hangs
  for (;;) ::pause();
}

class PrivateDaemonTest : public ::testing::Test {
 protected:
  PrivateDaemonTest() {
    char path[] = "/tmp/penstock-test-XXXXXX";
    runtime_ = ::mkdtemp(path);
    ::setenv("XDG_RUNTIME_DIR", path, 1);
    program_ = std::filesystem::canonical("/proc/self/exe");
    ::setenv("PENSTOCK_DAEMON", program_.c_str(), 1);
    ::setenv(kBehaviour, "listen", 1);
  }
  ~PrivateDaemonTest() override {
    for (const auto& folder : std::filesystem::directory_iterator(runtime_))
      for (const auto& [pid, session] : StartsIn(folder.path())) ::kill(pid, SIGKILL);
    std::filesystem::remove_all(runtime_);
  }

  std::string directory() const { return runtime_ + "/penstock"; }

  // Process id and session id of each daemon that was started.
  std::vector<std::pair<pid_t, pid_t>> Starts() const { return StartsIn(directory()); }
  static std::vector<std::pair<pid_t, pid_t>> StartsIn(const std::string& folder) {
    std::vector<std::pair<pid_t, pid_t>> starts;
    std::ifstream file(folder + "/starts");
    pid_t pid, session;
    while (file >> pid >> session) starts.emplace_back(pid, session);
    return starts;
  }

  std::string runtime_, program_;
};

constexpr base::Duration kLong = std::chrono::seconds(20);

// An idle daemon that ends removes its sockets first and releases the lock on its address last.
TEST_F(PrivateDaemonTest, ADaemonThatIsEndingIsWaitedFor) {
  ASSERT_EQ(::mkdir(directory().c_str(), 0700), 0);
  const std::string path = directory() + "/penstock.sock.lock";
  posix::Fd held(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::unlink(path.c_str());
    held.Close();
  });

  const auto address = StartPrivateDaemon(kLong);
  ending.join();

  EXPECT_TRUE(address.ok()) << address.status();
}

TEST_F(PrivateDaemonTest, ADirectoryThatOthersMayEnterIsRefused) {
  ASSERT_EQ(::mkdir(directory().c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);

  const absl::Status status = StartPrivateDaemon(kLong).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("mode 0755"));
  EXPECT_TRUE(Starts().empty());
}

TEST_F(PrivateDaemonTest, ALinkInThePlaceOfTheDirectoryIsRefused) {
  ASSERT_EQ(::symlink("/tmp", directory().c_str()), 0);

  EXPECT_EQ(StartPrivateDaemon(kLong).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(PrivateDaemonTest, AProgramThatIsNotThereIsNamed) {
  ::setenv("PENSTOCK_DAEMON", "/nowhere/penstockd", 1);

  const absl::Status status = StartPrivateDaemon(kLong).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/penstockd"));
}

TEST_F(PrivateDaemonTest, ADaemonThatEndsAtOnceIsReportedWithItsLogsLastLine) {
  ::setenv(kBehaviour, "fail", 1);

  const absl::Status status = StartPrivateDaemon(kLong).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ended at once"));
  EXPECT_THAT(std::string(status.message()), EndsWith("level=error event=no_memory"));
}

TEST_F(PrivateDaemonTest, ItRunsInAGroupOfItsOwnUnderAnAddressOfItsUser) {
  const absl::StatusOr<std::string> address = StartPrivateDaemon(kLong);

  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(*address, directory() + "/penstock.sock");
  EXPECT_TRUE(IsPrivateAddress(*address));
  ASSERT_EQ(Starts().size(), 1u);
  EXPECT_EQ(Starts()[0].second, ::getsid(0));  // where its workers give way to us alone
  EXPECT_NE(::getpgid(Starts()[0].first), ::getpgrp());
}

TEST_F(PrivateDaemonTest, OfManyThatWantItAtOnceOneStartsItAndTheOthersJoin) {
  std::vector<std::thread> threads;
  std::atomic<int> joined{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] { joined += StartPrivateDaemon(kLong).ok() ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(joined, 6);
  EXPECT_EQ(Starts().size(), 1u);
}

// In another mount namespace, a path may refer to other files.
TEST_F(PrivateDaemonTest, WhoSeesOtherFilesHasADaemonOfItsOwnAndFindsItAgain) {
  const std::string theirs = StartPrivateDaemon(kLong).value();
  std::ofstream(directory() + "/view") << "mounts 1 root 2:3\n";  // as if in another namespace

  const std::string ours = StartPrivateDaemon(kLong).value();

  EXPECT_NE(ours, theirs);
  EXPECT_EQ(StartPrivateDaemon(kLong).value(), ours);
  EXPECT_TRUE(IsPrivateAddress(ours));
  EXPECT_EQ(
      FindDaemon("", {.system_directory = runtime_ + "/none", .xdg_runtime_dir = runtime_}).value(),
      ours);
  EXPECT_EQ(Starts().size(), 1u);
}

}  // namespace
}  // namespace penstock::client

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string("--private")) {
    return penstock::client::BeTheDaemon(argv[2]);
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
