// A real daemon whose penstock-indexer stands still: whom that holds up, and for how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/program.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::seconds;

constexpr int kSamples = 150'000;  // it takes about a second to find them

std::string LargeShard() {
  std::string bytes;
  for (int i = 0; i < kSamples; ++i) bytes += TarHeaderBytes({.name = std::to_string(i) + ".txt"});
  return bytes + TarEnd();
}

// A trainer that opens the dataset, until it is killed.
class Caller {
 public:
  explicit Caller(const std::string& address) {
    const std::string program = ProgramPath("penstock-test-trainer");
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::execl(program.c_str(), program.c_str(), address.c_str(), "large", "take", nullptr);
    ::_exit(127);
  }
  ~Caller() { Kill(); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

class HangingIndexerTest : public ::testing::Test {
 protected:
  HangingIndexerTest() { folder_.Write("large.tar", LargeShard()); }
  std::string Config() const {
    return "server: {socket: SOCKET, group: '" + std::to_string(::getegid()) +
           "', state_dir: ''}\npool: {max: 64MiB}\ndatasets:\n"
           "  - {name: large, tar: {shards: ['" +
           folder_.At("large.tar") + "']}}\n";
  }

  // Waits for an indexer, and stops it.
  pid_t StopAnIndexer() {
    EXPECT_TRUE(daemon_.Eventually([&] { return !daemon_.IndexerPids().empty(); }));
    const std::vector<pid_t> indexers = daemon_.IndexerPids();
    if (indexers.empty()) return -1;
    EXPECT_EQ(::kill(indexers.front(), SIGSTOP), 0);
    return indexers.front();
  }
  bool IsThere(pid_t indexer) const {
    const std::vector<pid_t> now = daemon_.IndexerPids();
    return std::find(now.begin(), now.end(), indexer) != now.end();
  }

  Status Open() {
    SessionOptions options;
    options.dataset = "large";
    options.batch_size = 8;
    options.fields = {{.name = "txt", .max_length = 16}};
    return Client::Connect({.address = daemon_.address()}).OrDie().Open(options).status();
  }

  TempFolder folder_;
  DaemonProcess daemon_{{.workers = 1, .config = Config()}};
};

TEST_F(HangingIndexerTest, AnOpeningThatNobodyWaitsForEndsAndTheNextOneBeginsAfresh) {
  Caller caller(daemon_.address());
  const pid_t stopped = StopAnIndexer();

  caller.Kill();

  // It goes on for 3 s, because it may be asked for again.
  EXPECT_TRUE(daemon_.Eventually([&] { return !IsThere(stopped); }, 8));
  auto next = std::async(std::launch::async, [&] { return Open(); });
  const bool opened = next.wait_for(seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(opened);
  ::kill(stopped, SIGKILL);  // so that this test ends in any case
  const Status status = next.get();
  EXPECT_EQ(status.ok(), opened) << status.message();
}

TEST_F(HangingIndexerTest, AnOpeningThatOneOfTwoStillWaitsForGoesOn) {
  Caller first(daemon_.address());
  const pid_t stopped = StopAnIndexer();
  auto second = std::async(std::launch::async, [&] { return Open(); });
  std::this_thread::sleep_for(seconds(1));  // it waits in the queue

  first.Kill();

  std::this_thread::sleep_for(seconds(2));
  EXPECT_TRUE(IsThere(stopped));
  EXPECT_EQ(daemon_.IndexerPids().size(), 1u);
  ::kill(stopped, SIGCONT);
  const Status status = second.get();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(daemon_.log().find("indexing was cancelled"), std::string::npos);
}

}  // namespace
}  // namespace penstock::testing
