// Tests what a real daemon and client report about waits: who waits for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kImages = 40;

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() {
    fs::copy(Photographs(kImages), folder_.path() + "/photographs", fs::copy_options::recursive);
  }
  std::string dataset() const { return folder_.path() + "/photographs"; }

  Session Open(const SessionOptions& options) {
    return Client::Connect({.address = daemon_.address()}).OrDie().Open(options).OrDie();
  }
  // Takes batches until none arrives within the timeout. Returns that status.
  Status NextThatDoesNotCome(Session& session, milliseconds timeout) {
    for (;;) {
      const Result<Batch> batch = session.Next(timeout);
      if (!batch.ok()) return batch.status();
    }
  }

  TemporaryDirectory folder_;
  DaemonProcess daemon_{{.workers = 1}};
};

TEST_F(ProgressTest, ASourceThatIsGoneIsNamedWithItsPathAndReason) {
  Session session = Open(SmallRows(dataset(), 4));
  for (const auto& entry : fs::recursive_directory_iterator(dataset()))
    if (entry.is_regular_file()) fs::remove(entry.path());

  const Status status = NextThatDoesNotCome(session, milliseconds(1500));

  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("reading: the source has stalled for"));
  EXPECT_THAT(status.message(), HasSubstr(dataset()));
  EXPECT_THAT(status.message(), HasSubstr("No such file"));
}

TEST_F(ProgressTest, ASampleThatIsNotDecodedIsNamed) {
  Session session = Open(SmallRows(dataset(), 4));
  ASSERT_TRUE(session.Next(seconds(30)).ok());
  const pid_t worker = daemon_.WorkerPids().at(0);
  kill(worker, SIGSTOP);

  const Status status = NextThatDoesNotCome(session, milliseconds(2500));

  kill(worker, SIGCONT);
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  // This depends on whether the worker had a sample in hand when it was stopped.
  EXPECT_THAT(status.message(), AnyOf(HasSubstr("has been with a worker for"),
                                      HasSubstr("the worker is busy for only")));
  EXPECT_TRUE(session.Next(seconds(30)).ok());
}

TEST_F(ProgressTest, ADaemonThatDoesNotAnswerIsSaidToBeSilent) {
  Session session = Open(SmallRows(dataset(), 4));
  ASSERT_TRUE(session.Next(seconds(30)).ok());
  kill(daemon_.pid(), SIGSTOP);

  const Status status = NextThatDoesNotCome(session, milliseconds(300));

  kill(daemon_.pid(), SIGCONT);
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("the daemon does not answer"));
  EXPECT_TRUE(session.Next(seconds(30)).ok());
}

TEST_F(ProgressTest, WhoHoldsTheWholeWindowIsToldAndGoesOnAfterARelease) {
  Session session = Open(SmallRows(dataset(), 4));
  std::vector<Batch> held;
  for (int i = 0; i < 4; ++i) held.push_back(session.Next(seconds(30)).OrDie());

  const Status status = session.Next(seconds(60)).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("holds 4 batches, all that its window has"));

  held.erase(held.begin());
  EXPECT_TRUE(session.Next(seconds(30)).ok());
}

TEST_F(ProgressTest, StatsSayWhoWaitedAndWhatTheDaemonDid) {
  SessionOptions options = SmallRows(dataset(), 4);
  options.epochs = 0;
  Session session = Open(options);
  uint64_t taken = 0;  // a consumer that does no work with its batches waits sooner or later
  do {
    ASSERT_LT(taken, 100'000u);
    for (int i = 0; i < 100; ++i) {
      const Status status = session.Next(seconds(30)).status();
      ASSERT_TRUE(status.ok() || status.code() == Code::kEndOfEpoch) << status.ToString();
      taken += status.ok() ? 1 : 0;
    }
  } while (session.Stats().waited_seconds == 0);
  ASSERT_TRUE(daemon_.Eventually([&] { return session.Stats().batches_ahead >= 3; }));
  if (session.Next(seconds(30)).status().code() == Code::kEndOfEpoch) {
    ASSERT_TRUE(session.Next(seconds(30)).ok());
  }
  std::this_thread::sleep_for(milliseconds(50));

  const SessionStats stats = session.Stats();

  EXPECT_EQ(stats.batches, taken + 1);
  EXPECT_GE(stats.batches_ready, 1u);
  EXPECT_GT(stats.waited_seconds, 0);
  EXPECT_GE(stats.busy_seconds, 0.05);
  EXPECT_TRUE(stats.daemon_answered);
  EXPECT_GE(stats.samples_decoded, 4u * 4);
  EXPECT_FALSE(stats.verdict.empty());
}

TEST_F(ProgressTest, AWorkersDeathIsLoggedWithItsSignal) {
  Session session = Open(SmallRows(dataset(), 4));
  ASSERT_TRUE(session.Next(seconds(30)).ok());

  kill(daemon_.WorkerPids().at(0), SIGABRT);  // no sanitizer handles this signal

  EXPECT_TRUE(daemon_.Eventually(
      [&] { return daemon_.log().find("event=worker_died") != std::string::npos; }));
  EXPECT_THAT(daemon_.log(), HasSubstr("killed by signal 6"));
  EXPECT_TRUE(session.Next(seconds(30)).ok());
}

}  // namespace
}  // namespace penstock::testing
