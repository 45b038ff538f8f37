// Deaths of workers, hosts and trainers of a Python dataset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <optional>

#include "tests/support/programs/daemon_process.h"
#include "tests/system/python/maker_processes.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class PythonDeathsTest : public ::testing::Test {
 protected:
  void ExpectTheEpoch(const std::vector<MadeContent>& all) {
    ASSERT_THAT(all, SizeIs(Script::kSamples / 4));
    for (uint64_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].ids.front(), 4 * i);
      EXPECT_EQ(all[i].key_first, 4 * i);
    }
  }
  // The error that ends the session.
  Status Failure(PythonTrainer& trainer, Session& session) {
    for (;;) {
      const Result<Batch> batch = trainer.Next(session);
      if (!batch.ok()) return batch.status();
    }
  }

  DaemonProcess daemon_{{}};
  Script& script_ = Script::Shared();
  PythonTrainer trainer_{daemon_.address(), script_};
};

TEST_F(PythonDeathsTest, ABatchOverWhichAWorkerDiedIsMadeOnceMore) {
  script_.kill_at = 9;
  Session session = trainer_.Open(trainer_.Options());

  ExpectTheEpoch(trainer_.Drain(session));

  EXPECT_EQ(script_.made[9], 2u);
  EXPECT_EQ(trainer_.hosts(), 1u);
}

TEST_F(PythonDeathsTest, TwoDeathsOverABatchFailTheFeedInWords) {
  script_.kill_always = 9;
  Session session = trainer_.Open(trainer_.Options());

  const Status failure = Failure(trainer_, session);

  EXPECT_THAT(failure.message(), HasSubstr("sample 9 of 'python:id=7e57,samples=64'"));
  EXPECT_THAT(failure.message(), HasSubstr("signal 9"));
}

TEST_F(PythonDeathsTest, AHostThatIsKilledIsReplaced) {
  script_.sample_ms = 2;
  Session session = trainer_.Open(trainer_.Options());
  std::vector<MadeContent> all;
  for (int i = 0; i < 5; ++i) all.push_back(Read(*trainer_.Next(session)));
  ::kill(trainer_.host(), SIGKILL);

  for (const MadeContent& content : trainer_.Drain(session)) all.push_back(content);

  ExpectTheEpoch(all);
  EXPECT_EQ(trainer_.hosts(), 2u);
}

TEST_F(PythonDeathsTest, WhenTheSupplierLeavesAnotherTrainerTakesOver) {
  script_.sample_ms = 2;
  std::optional<PythonTrainer> supplier(std::in_place, daemon_.address(), script_);
  std::optional<Session> theirs = supplier->Open(supplier->Options());
  ASSERT_TRUE(supplier->Next(*theirs).ok());
  Session session = trainer_.Open(trainer_.Options());
  std::vector<MadeContent> all;
  all.push_back(Read(*trainer_.Next(session)));
  EXPECT_EQ(trainer_.hosts(), 0u);

  theirs.reset();
  supplier.reset();

  for (const MadeContent& content : trainer_.Drain(session)) all.push_back(content);
  ExpectTheEpoch(all);
  EXPECT_EQ(trainer_.hosts(), 1u);
}

TEST_F(PythonDeathsTest, AStreamWhoseWorkerDiedFailsTheFeedInWords) {
  script_.kill_at = 9;
  SessionOptions options = trainer_.Options(/*batch_size=*/1);
  options.python->streams = 2;
  Session session = trainer_.Open(options);

  const Status failure = Failure(trainer_, session);

  EXPECT_THAT(failure.message(), HasSubstr("worker process 1 of the iterable dataset"));
  EXPECT_THAT(failure.message(), HasSubstr("signal 9"));
}

TEST_F(PythonDeathsTest, StreamsThatFailedCanBeReadFromTheirBeginning) {
  script_.kill_at = 9;
  SessionOptions options = trainer_.Options(/*batch_size=*/1);
  options.python->streams = 2;
  {
    Session session = trainer_.Open(options);
    EXPECT_THAT(Failure(trainer_, session).message(), HasSubstr("iterate it from its beginning"));
  }

  Session again = trainer_.Open(options);

  EXPECT_THAT(trainer_.Drain(again), SizeIs(Script::kSamples));
}

TEST_F(PythonDeathsTest, AWorkerThatTakesTooLongIsKilled) {
  script_.sample_ms = 3000;
  SessionOptions options = trainer_.Options();
  options.python->timeout = std::chrono::milliseconds(300);
  Session session = trainer_.Open(options);

  EXPECT_THAT(Failure(trainer_, session).message(), HasSubstr("a sample took too long"));
}

}  // namespace
}  // namespace penstock::testing
