#include "server/workers/user_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "server/workers/sleeping_workers.h"
#include "tests/unit/workers/fake_worker.h"

namespace penstock::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr posix::Exit kSegmentationFault{.signalled = true, .code = SIGSEGV};

class UserWorkerTest : public ::testing::Test {
 protected:
  UserWorkerTest() { EXPECT_TRUE(events_.Open().ok()); }

  std::unique_ptr<UserWorker> New(uint32_t user = 7) {
    const WorkerQueue::Options queue{.number = 3, .limits = {.max_bytes = kFakeArena}};
    return std::make_unique<UserWorker>(user, queue, wake_, loose_);
  }
  // Starts a process for the worker.
  void Start(UserWorker& worker) {
    UserWorker::Process process;
    process.endpoint =
        SupervisorEndpoint::Make({.arena_bytes = kFakeArena, .memory_bytes = 0, .limits = {}})
            .value();
    process.process = fakes_.Starter()({.user = worker.user()}, *process.endpoint).value();
    process.done = events_.Add(process.endpoint->done_event()).value();
    process.ended = events_.Add(process.process->pidfd()).value();
    worker.Start(std::move(process), kNow);
  }
  std::unique_ptr<UserWorker> NewWithProcess(uint32_t user = 7) {
    auto worker = New(user);
    Start(*worker);
    return worker;
  }
  void Collect(UserWorker& worker) {
    events_.Look();
    worker.Collect(kNow, outcomes_);
  }
  std::optional<DeadWorker> Reap(UserWorker& worker) {
    events_.Look();
    return worker.ReapIfEnded(kNow, outcomes_);
  }
  static WorkItem Item(const FakeDataset& dataset, uint64_t id, uint64_t account = 0) {
    return {.id = id, .account = account, .dataset = &dataset, .sample = 1};
  }

  static constexpr base::TimePoint kNow{seconds(1000)};
  FakeDataset dataset_;
  EventSet events_;
  posix::Fd wake_ = posix::MakeEvent().value();
  posix::LooseThreads loose_{8};
  FakeWorkers fakes_;
  std::vector<Outcome> outcomes_;
};

TEST_F(UserWorkerTest, AnItemGoesThroughTheWorkerToItsOutcome) {
  auto worker = NewWithProcess();
  EXPECT_TRUE(worker->Give(Item(dataset_, 5)));
  EXPECT_FALSE(worker->IsFree());

  fakes_[0].Answer(fakes_[0].Take().sequence);
  Collect(*worker);

  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].id, 5u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kDone);
  EXPECT_TRUE(worker->IsFree());
}

TEST_F(UserWorkerTest, WhoseSampleItHadInHandPaysForItsDeath) {
  auto worker = NewWithProcess();
  worker->Give(Item(dataset_, 5, /*account=*/50));
  fakes_[0].Take();
  worker->Give(Item(dataset_, 6, /*account=*/60));
  fakes_[0].End(kSegmentationFault);

  const std::optional<DeadWorker> dead = Reap(*worker);

  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->account, 50u);
  EXPECT_THAT(dead->reason, HasSubstr("signal 11"));
  EXPECT_THAT(dead->reason, HasSubstr("with sample 1 (/fake/1) in hand"));
  EXPECT_EQ(outcomes_[0].id, 5u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kStrike);
  EXPECT_FALSE(worker->has_process());
}

TEST_F(UserWorkerTest, NobodyPaysForOneThatWasNeverReady) {
  fakes_.are_ready = false;
  auto worker = NewWithProcess();
  worker->Give(Item(dataset_, 5, 50));
  fakes_[0].Take();
  fakes_[0].End(kSegmentationFault);

  const std::optional<DeadWorker> dead = Reap(*worker);

  ASSERT_TRUE(dead);
  EXPECT_FALSE(dead->was_ready);
  EXPECT_EQ(dead->account, 0u);
}

TEST_F(UserWorkerTest, OneThatLivesIsNotReaped) {
  auto worker = NewWithProcess();

  EXPECT_FALSE(Reap(*worker));
  EXPECT_TRUE(worker->has_process());
}

TEST_F(UserWorkerTest, OneThatAnswersWhatItWasNotAskedIsKilled) {
  auto worker = NewWithProcess();
  fakes_[0].Answer(/*sequence=*/99);

  Collect(*worker);

  EXPECT_TRUE(worker->is_condemned());
  EXPECT_TRUE(fakes_[0].exit);
  EXPECT_THAT(Reap(*worker)->reason, HasSubstr("corrupted its channel"));
}

TEST_F(UserWorkerTest, OneThatNotifiesOnceForEachAnswerLives) {
  auto worker = NewWithProcess();
  for (uint64_t id = 1; id <= 3; ++id) {
    worker->Give(Item(dataset_, id));
    fakes_[0].Answer(fakes_[0].Take().sequence);
    if (id == 2) Collect(*worker);  // its notification comes later
    fakes_[0].Notify();
    Collect(*worker);
  }

  EXPECT_EQ(outcomes_.size(), 3u);
  EXPECT_FALSE(worker->is_condemned());
}

TEST_F(UserWorkerTest, OneThatNotifiesWithoutAnAnswerIsKilled) {
  auto worker = NewWithProcess();
  worker->Give(Item(dataset_, 5));
  fakes_[0].Take();

  fakes_[0].Notify();
  Collect(*worker);

  EXPECT_TRUE(worker->is_condemned());
  const auto dead = Reap(*worker);
  ASSERT_TRUE(dead.has_value());
  EXPECT_THAT(dead->reason, HasSubstr("corrupted its channel"));
}

TEST_F(UserWorkerTest, OneThatIsNotReadyInTimeIsKilled) {
  fakes_.are_ready = false;
  auto worker = NewWithProcess();
  const WorkerLife::TimeOuts time_outs{.start = seconds(10), .sample = seconds(30)};

  worker->Tick(kNow, time_outs);
  EXPECT_FALSE(fakes_[0].exit);
  worker->Tick(kNow + seconds(11), time_outs);

  EXPECT_THAT(Reap(*worker)->reason, HasSubstr("not ready in time"));
}

TEST_F(UserWorkerTest, ASegmentIsSentOnceAndForgottenOnce) {
  auto worker = NewWithProcess();

  EXPECT_TRUE(worker->ShowSegment(4, wake_, 0));
  EXPECT_TRUE(worker->ShowSegment(4, wake_, 0));
  EXPECT_THAT(fakes_[0].segments, ElementsAre(4));

  worker->ForgetSegment(4);
  worker->ForgetSegment(8);  // which was never sent
  EXPECT_THAT(fakes_[0].segments, IsEmpty());
}

TEST_F(UserWorkerTest, ASegmentThatTheSystemCouldNotSendIsSentAgain) {
  auto worker = NewWithProcess();
  fakes_[0].sent = absl::AbortedError("no memory");

  EXPECT_FALSE(worker->ShowSegment(4, wake_, 0));
  fakes_[0].sent = absl::OkStatus();
  EXPECT_TRUE(worker->ShowSegment(4, wake_, 0));

  EXPECT_FALSE(worker->is_condemned());
}

TEST_F(UserWorkerTest, OneThatDoesNotReadItsSocketIsKilled) {
  auto worker = NewWithProcess();
  fakes_[0].sent = absl::ResourceExhaustedError("its socket is full");

  EXPECT_TRUE(worker->ShowSegment(4, wake_, 0));

  EXPECT_THAT(Reap(*worker)->reason, HasSubstr("did not read its socket"));
}

TEST_F(UserWorkerTest, ItsNextProcessKnowsNoSegmentsAndWasGivenNothing) {
  auto worker = NewWithProcess();
  worker->ShowSegment(4, wake_, 0);
  worker->Give(Item(dataset_, 5, 50));
  fakes_[0].Take();
  fakes_[0].End(kSegmentationFault);
  Reap(*worker);

  Start(*worker);

  EXPECT_FALSE(worker->was_given_items());
  worker->ShowSegment(4, wake_, 0);
  EXPECT_THAT(fakes_[1].segments, ElementsAre(4));
}

TEST_F(UserWorkerTest, TheBusyTimeThatItClaimsIsCountedOnce) {
  auto worker = NewWithProcess();
  fakes_[0].ClaimBusy(100);
  EXPECT_EQ(worker->TakeBusyNs(), 100u);
  EXPECT_EQ(worker->TakeBusyNs(), 0u);

  fakes_[0].ClaimBusy(40);  // impossible, because it decreased

  EXPECT_EQ(worker->TakeBusyNs(), 0u);
}

TEST_F(UserWorkerTest, ADismissedOneEndsAndLeavesNothing) {
  auto worker = NewWithProcess();

  EXPECT_EQ(worker->Dismiss(outcomes_), nullptr);

  EXPECT_TRUE(fakes_[0].is_gone);
  EXPECT_THAT(outcomes_, IsEmpty());
}

TEST_F(UserWorkerTest, ADismissedOneLeavesTheQueueOfAReadThatDoesNotComeBack) {
  auto worker = NewWithProcess();
  Hang hang(dataset_);
  worker->Give(Item(dataset_, 5));
  ASSERT_TRUE(hang.Begun());

  const std::unique_ptr<WorkerQueue> queue = worker->Dismiss(outcomes_);
  EXPECT_TRUE(fakes_[0].is_gone);
  ASSERT_NE(queue, nullptr);
  hang.End();

  EXPECT_TRUE(Eventually([&] {
    queue->Collect(base::Now(), outcomes_);
    return queue->held() == 0;
  }));
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
}

class SleepingWorkersTest : public UserWorkerTest {
 protected:
  void Add(uint32_t user) { asleep_.Add(NewWithProcess(user), kNow); }
  std::vector<uint32_t> Users() const {
    std::vector<uint32_t> users;
    for (const auto& worker : asleep_.all()) users.push_back(worker->user());
    return users;
  }
  SleepingWorkers asleep_;
};

TEST_F(SleepingWorkersTest, TheUsersLastToFallAsleepIsWoken) {
  Add(7);
  Add(7);
  Add(8);
  const UserWorker* last = asleep_.all()[1].get();

  const std::unique_ptr<UserWorker> woken = asleep_.Wake(7);

  EXPECT_EQ(woken.get(), last);
  EXPECT_THAT(Users(), ElementsAre(7, 8));
  EXPECT_EQ(asleep_.Wake(9), nullptr);
}

TEST_F(SleepingWorkersTest, OneWithoutAProcessIsNotWoken) {
  asleep_.Add(New(7), kNow);

  EXPECT_EQ(asleep_.Wake(7), nullptr);
  EXPECT_EQ(asleep_.processes(), 0u);
}

TEST_F(SleepingWorkersTest, OneThatIsBeingKilledIsNotWoken) {
  Add(7);
  fakes_[0].Answer(99);
  asleep_.all()[0]->Collect(kNow, outcomes_);

  EXPECT_EQ(asleep_.Wake(7), nullptr);
}

TEST_F(SleepingWorkersTest, BeyondTheMostTheOldestGo) {
  for (const uint32_t user : {1, 2, 3}) Add(user);

  const auto taken = asleep_.TakeBeyond(1);

  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0]->user(), 1u);
  EXPECT_EQ(taken[1]->user(), 2u);
  EXPECT_THAT(Users(), ElementsAre(3));
}

TEST_F(SleepingWorkersTest, OneThatWaitsForAReadGoesLast) {
  auto waiting = NewWithProcess(1);
  Hang hang(dataset_);
  WorkItem item = Item(dataset_, 5);
  item.aside = true;
  EXPECT_FALSE(waiting->Give(item));
  ASSERT_TRUE(hang.Begun());
  asleep_.Add(std::move(waiting), kNow);
  Add(2);

  const auto taken = asleep_.TakeBeyond(1);
  hang.End();

  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0]->user(), 2u);
}

TEST_F(SleepingWorkersTest, ThoseThatNobodyWokeGoAndOthersStay) {
  Add(1);
  asleep_.Add(NewWithProcess(2), kNow + seconds(3));
  asleep_.Add(New(3), kNow + seconds(3));  // its process ended

  const auto taken = asleep_.TakeUnused(kNow + seconds(6), seconds(5));

  EXPECT_EQ(taken.size(), 2u);
  EXPECT_THAT(Users(), ElementsAre(2));
}

}  // namespace
}  // namespace penstock::workers
