// A real daemon whose indexer reads from a file server that does not answer. Not even SIGKILL ends
// such a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "common/posix/process.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/program.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The file server, mounted at a folder.
class SilentFileServer {
 public:
  explicit SilentFileServer(std::string folder) : folder_(std::move(folder)) {
    const std::string program = ProgramPath("penstock-test-silent-file-server");
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::execl(program.c_str(), program.c_str(), folder_.c_str(), nullptr);
    ::_exit(127);
  }
  ~SilentFileServer() {
    End();
    ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SilentFileServer(const SilentFileServer&) = delete;
  SilentFileServer& operator=(const SilentFileServer&) = delete;

  // Whether it serves; false: it cannot mount here.
  bool Serves() const {
    while (::access((folder_ + "/silent.tar").c_str(), R_OK) != 0) {
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  // The kernel then answers what waits with an error.
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  const std::string folder_;
  pid_t pid_ = -1;
};

class DeadStorageTest : public ::testing::Test {
 protected:
  DeadStorageTest() { folder_.MakeFolder("silent"); }
  std::string Config() const {
    return "server: {socket: SOCKET, group: '" + std::to_string(::getegid()) +
           "', state_dir: ''}\npool: {max: 64MiB}\nsource: {retry_for: 10s}\ndatasets:\n"
           "  - {name: silent, tar: {shards: ['" +
           folder_.At("silent/silent.tar") + "']}}\n  - {name: sound, folder: " + Photographs(8) +
           "}\n";
  }

  TempFolder folder_;
};

Status Open(const std::string& address, const std::string& dataset) {
  return Client::Connect({.address = address}).OrDie().Open(SmallRows(dataset, 8)).status();
}

TEST_F(DeadStorageTest, AnOpeningFailsInWordsAndNeitherOthersNorTheDaemonsEndWaitForIt) {
  SilentFileServer server(folder_.At("silent"));
  if (!server.Serves()) GTEST_SKIP() << "only root can mount, where there is /dev/fuse";
  DaemonProcess daemon({.workers = 1, .config = Config()});

  auto opening = std::async(std::launch::async, Open, daemon.address(), "silent");
  if (opening.wait_for(seconds(20)) != std::future_status::ready) {
    server.End();  // so that this test ends in any case
    FAIL() << "the opening waits for its storage: " << opening.get().message();
  }
  const Status status = opening.get();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("has not answered a read for 10 s"),
                                      HasSubstr(folder_.At("silent/silent.tar"))));
  EXPECT_TRUE(Open(daemon.address(), "sound").ok());
  ASSERT_EQ(daemon.IndexerPids().size(), 1u);
  const pid_t indexer = daemon.IndexerPids().front();
  EXPECT_EQ(posix::StateOf(indexer), 'D');

  const auto ending = steady_clock::now();
  EXPECT_EQ(daemon.Kill(SIGTERM), 0);
  EXPECT_LT(steady_clock::now() - ending, seconds(5));
  EXPECT_EQ(daemon.log().find("ended_without_waiting"), std::string::npos);
  EXPECT_EQ(posix::StateOf(indexer), 'D');  // it outlives the daemon …
  server.End();
  EXPECT_TRUE(daemon.Eventually([&] {  // … until its file server answers
    const char state = posix::StateOf(indexer);
    return state == '?' || state == 'Z';
  }));
}

}  // namespace
}  // namespace penstock::testing
