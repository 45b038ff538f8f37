// Tests how the daemon reports reads that hang, and that SIGTERM still stops it meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/preload.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
namespace fs = std::filesystem;

constexpr int kImages = 48;

class HungSourceTest : public ::testing::Test {
 protected:
  // The daemon inherits the environment that makes its reads hang.
  HungSourceTest() {
    fs::copy(Photographs(kImages), folder_, fs::copy_options::recursive);
    setenv("PENSTOCK_TEST_FOLDER", folder_.c_str(), 1);
    preload_.emplace(PENSTOCK_HANGING_READS);
    daemon_.emplace(DaemonProcess::Options{.workers = 2});
  }

  void GoAway() { std::ofstream(folder_ + ".away") << "away"; }
  void ComeBack() { fs::remove(folder_ + ".away"); }

  bool SomeReadHangs() { return fs::exists(folder_ + ".hung"); }

  // Stops the daemon with SIGTERM, checks that it stops cleanly, and starts it again.
  void ExpectOrderlyEnd() {
    const std::vector<pid_t> workers = daemon_->WorkerPids();
    const auto asked = steady_clock::now();

    EXPECT_EQ(daemon_->Kill(SIGTERM), 0);

    EXPECT_LT(steady_clock::now() - asked, seconds(8));
    EXPECT_FALSE(fs::exists(daemon_->address()));
    EXPECT_FALSE(fs::exists(daemon_->address() + ".door"));
    EXPECT_TRUE(daemon_->Eventually([&] {
      return std::none_of(workers.begin(), workers.end(),
                          [](pid_t pid) { return kill(pid, 0) == 0; });
    }));
    ComeBack();
    daemon_->Start();
    EXPECT_EQ(OneEpoch(daemon_->address(), SmallRows(folder_, 8)).rows.size(), size_t{kImages});
  }

  static uint64_t ReplacedSamples(const v1::GetStatusResponse& status) {
    uint64_t samples = 0;
    for (const v1::FeedStatus& feed : status.feeds()) samples += feed.samples_replaced();
    return samples;
  }

  // Takes batches until none arrives within `patience`, or the data end. Returns the status that
  // ended the loop.
  static Status TakeWhatComes(Session& session, Delivered& delivered,
                              std::chrono::milliseconds patience) {
    for (;;) {
      const Result<Batch> batch = session.Next(patience);
      if (batch.ok()) Note(*batch, delivered);
      if (!batch.ok() && batch.status().code() != Code::kEndOfEpoch) return batch.status();
    }
  }

  TemporaryDirectory scratch_;
  const std::string folder_ = scratch_.path() + "/data";
  std::optional<Preload> preload_;
  std::optional<DaemonProcess> daemon_;
};

// A hung read marks no sample as bad and counts no worker as dead.
TEST_F(HungSourceTest, AReadThatHangsShowsAsAStalledSourceAndGoesOnWhenItComesBack) {
  const std::vector<pid_t> workers = daemon_->WorkerPids();
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  SessionOptions options = SmallRows(folder_, 8);
  options.epochs = 1;
  Session session = client.Open(options).OrDie();
  Delivered delivered;
  GoAway();
  (void)TakeWhatComes(session, delivered, std::chrono::milliseconds(500));
  ASSERT_TRUE(SomeReadHangs());

  // The stall is reported for sessions, feeds and workers, and to the trainer itself.
  EXPECT_TRUE(daemon_->Eventually([&] {
    const v1::ListSessionsResponse all = daemon_->Sessions();
    return all.sessions_size() == 1 && all.sessions(0).state().starts_with("source stalled for") &&
           all.sessions(0).state().ends_with("the read is blocked");
  })) << daemon_->Sessions().ShortDebugString();
  EXPECT_TRUE(daemon_->Eventually([&] {
    return daemon_->Ctl({"status"}).output.find("the source is stalled") != std::string::npos;
  })) << daemon_->Ctl({"status"}).output;
  EXPECT_THAT(daemon_->Ctl({"workers"}).output, HasSubstr("source stalled for"));
  EXPECT_THAT(session.Next(std::chrono::milliseconds(100)).status().message(),
              HasSubstr("the source has stalled"));

  const v1::GetStatusResponse status = daemon_->Status();
  EXPECT_EQ(status.worker_restarts(), 0u);
  EXPECT_EQ(status.quarantined(), 0u);
  EXPECT_EQ(ReplacedSamples(status), 0u);
  EXPECT_THAT(daemon_->WorkerPids(), IsSupersetOf(workers));

  ComeBack();
  EXPECT_EQ(TakeWhatComes(session, delivered, seconds(20)).code(), Code::kEndOfData);
  EXPECT_EQ(delivered.rows.size(), size_t{kImages});
  EXPECT_EQ(ReplacedSamples(daemon_->Status()), 0u);
}

TEST_F(HungSourceTest, AReadThatDoesNotComeBackDoesNotHoldUpTheEnd) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  SessionOptions options = SmallRows(folder_, 8);
  options.epochs = 0;
  Session session = client.Open(options).OrDie();
  GoAway();
  ASSERT_TRUE(daemon_->Eventually([&] {
    (void)session.Next(std::chrono::milliseconds(10));
    return SomeReadHangs();
  }));

  ExpectOrderlyEnd();
}

TEST_F(HungSourceTest, AFolderThatCannotBeListedDoesNotHoldUpTheEnd) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  GoAway();
  Status status;
  std::thread opener([&] { status = client.Open(SmallRows(folder_, 8)).status(); });
  EXPECT_TRUE(daemon_->Eventually([&] { return SomeReadHangs(); }));

  ExpectOrderlyEnd();

  opener.join();
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace penstock::testing
