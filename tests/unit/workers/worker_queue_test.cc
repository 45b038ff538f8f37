// A queue and its worker: which answers are valid, what is lost when the worker ends, and the order
// of items.
#include <fcntl.h>

#include "common/shm/sleep.h"
#include "tests/unit/workers/queue_rig.h"

namespace penstock::workers {
namespace {

TEST_F(WorkerQueueTest, AnAnswerToWhatWasNotAskedIsNotBelieved) {
  Answer(1);

  EXPECT_FALSE(Collect());
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(WorkerQueueTest, AnAnswerOutOfOrderIsNotBelieved) {
  Give(10, 100);
  Give(11, 101);
  Take();
  Take();
  Answer(2);

  EXPECT_FALSE(Collect());
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(WorkerQueueTest, AFaultThatDoesNotExistIsNotBelieved) {
  Give(10, 100);
  Answer(Take().sequence, static_cast<base::Fault>(99));

  EXPECT_FALSE(Collect());
}

TEST_F(WorkerQueueTest, AFaultThatIsNotAWorkersToFindIsNotBelieved) {
  Give(10, 100);
  Answer(Take().sequence, base::Fault::kWorkerCrashed);

  EXPECT_FALSE(Collect());
}

TEST_F(WorkerQueueTest, EachFaultIsBelievedOfAWorkerExactlyWhereItIsAWorkersToFind) {
  constexpr uint32_t kBeyondAll = 64;
  for (uint32_t fault = 1; fault <= kBeyondAll; ++fault) {
    SCOPED_TRACE(fault);
    queue_.reset();
    Open({.number = 0, .limits = {.max_bytes = kArena}});
    Give(fault, 100);
    Answer(Take().sequence, static_cast<base::Fault>(fault));

    EXPECT_EQ(Collect(), base::IsWorkers(static_cast<base::Fault>(fault)));
  }
}

TEST_F(WorkerQueueTest, AJpegOfTooManyScansIsTheSamplesFaultAndNotItsWorkers) {
  Give(10, 100);
  Answer(Take().sequence, base::Fault::kTooManyScans);

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kRefused);
  EXPECT_EQ(outcomes_[0].fault, base::Fault::kTooManyScans);
}

TEST_F(WorkerQueueTest, ACounterThatCannotBeIsNotBelieved) {
  channel_->completions.pushed.store(1000);

  EXPECT_FALSE(Collect());
}

TEST_F(WorkerQueueTest, ATimeThatCannotBeIsHeldWithinWhatThereWas) {
  const base::TimePoint begin = base::Now();
  Give(10, 100);
  Give(11, 101);
  completions_->Push({.sequence = Take().sequence,
                      .fault = base::Fault::kNone,
                      .decode_us = UINT32_MAX,
                      .ended_ns = UINT64_MAX});
  completions_->Push({.sequence = Take().sequence,
                      .fault = base::Fault::kNone,
                      .decode_us = UINT32_MAX,
                      .ended_ns = 0});

  ASSERT_TRUE(CollectSome(2));

  for (const Outcome& outcome : outcomes_) {
    EXPECT_LE(outcome.times.ended, base::Now());
    EXPECT_GE(outcome.times.ended, outcome.times.read_end);
    EXPECT_LE(outcome.times.decode, base::Now() - begin);
  }
  EXPECT_EQ(outcomes_[1].times.decode, base::Duration::zero());
}

// The worst that a worker can do to the descriptor that wakes it.
TEST_F(WorkerQueueTest, AWorkerThatMakesItsDescriptorBlockAndFillsItHoldsUpNoReader) {
  const int theirs = endpoint_->work_notifier().get();
  ASSERT_EQ(::fcntl(theirs, F_SETFL, 0), 0);
  const uint64_t most = UINT64_MAX - 1;
  ASSERT_EQ(::write(theirs, &most, sizeof(most)), ssize_t{sizeof(most)});

  for (uint64_t item = 0; item < 50; ++item) {
    channel_->worker_asleep.store(1);  // each item notifies the worker, and no notification is read
    Give(item, 100);
    Answer(Take().sequence);
    ASSERT_TRUE(CollectSome(item + 1));
  }
}

TEST_F(WorkerQueueTest, AnItemsTimesFollowEachOther) {
  const base::TimePoint given = base::Now();
  queue_->Give({.id = 10, .dataset = &dataset_, .sample = 100, .given = given});
  const uint64_t sequence = Take().sequence;
  ::poll(nullptr, 0, 5);
  const auto ended = static_cast<uint64_t>(base::Now().time_since_epoch().count());
  completions_->Push(
      {.sequence = sequence, .fault = base::Fault::kNone, .decode_us = 4000, .ended_ns = ended});

  ASSERT_TRUE(CollectSome(1));

  const Times& times = outcomes_[0].times;
  EXPECT_EQ(times.given, given);
  EXPECT_LE(given, times.read_begin);
  EXPECT_LE(times.read_begin, times.read_end);
  EXPECT_EQ(times.held_up, base::Duration::zero());
  EXPECT_EQ(times.decode, milliseconds(4));
  EXPECT_LE(times.read_end, times.ended - times.decode);
  EXPECT_EQ(static_cast<uint64_t>(times.ended.time_since_epoch().count()), ended);
}

TEST_F(WorkerQueueTest, WhatWaitsForRoomIsNotCountedAsReading) {
  Give(10, kArena);
  Give(11, kArena);
  const uint64_t first = Take().sequence;
  ::poll(nullptr, 0, 20);
  Answer(first);
  ASSERT_TRUE(CollectSome(1));
  Answer(Take().sequence);
  ASSERT_TRUE(CollectSome(2));

  EXPECT_GE(outcomes_[1].times.held_up, milliseconds(10));
  EXPECT_LE(outcomes_[1].times.held_up,
            outcomes_[1].times.read_end - outcomes_[1].times.read_begin);
}

TEST_F(WorkerQueueTest, AFaultOfTheSourceNeedsNoWorker) {
  dataset_.fault = base::Fault::kChangedOnDisk;
  Give(10, 100);

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kRefused);
  EXPECT_EQ(outcomes_[0].fault, base::Fault::kChangedOnDisk);
  EXPECT_EQ(queue_->outstanding(), 0u);
}

// A file that changed since it was indexed won't change back, so the feed gets the error at once.
TEST_F(WorkerQueueTest, WhatIsStoredWrongIsNotTriedAgain) {
  dataset_.changed = absl::DataLossError("'/x' changed since it was indexed");
  Give(10, 100);

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kSourceFailed);
  EXPECT_EQ(outcomes_[0].status, dataset_.changed);
  EXPECT_EQ(dataset_.opened.load(), 1);
}

TEST_F(WorkerQueueTest, AFileThatIsTooLargeIsRefusedUnread) {
  Give(10, kArena + 1);

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].fault, base::Fault::kTooManyBytes);
}

// ---- Workers that end. ----

TEST_F(WorkerQueueTest, WhatIsInHandOfADeadWorkerEndsAsItDiedAndTheRestIsLost) {
  Give(10, 100);
  Give(11, 101);
  Give(12, 102);
  const DecodeRequest request = Take();
  Take();
  Take();
  channel_->started.store(request.sequence);
  EXPECT_TRUE(queue_->OldestAtWorker()->started);

  queue_->Detach({.kind = OutcomeKind::kStrike, .fault = base::Fault::kTimeout}, outcomes_);

  ASSERT_EQ(outcomes_.size(), 3u);
  EXPECT_EQ(outcomes_[0].id, 10u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kStrike);
  EXPECT_EQ(outcomes_[0].fault, base::Fault::kTimeout);
  EXPECT_EQ(outcomes_[1].kind, OutcomeKind::kLost);
  EXPECT_EQ(outcomes_[2].kind, OutcomeKind::kLost);
  EXPECT_EQ(queue_->outstanding(), 0u);
}

TEST_F(WorkerQueueTest, WhatADeadWorkerHadNotStartedIsLostAndNotAStrike) {
  Give(10, 100);
  Take();
  EXPECT_FALSE(queue_->OldestAtWorker()->started);

  queue_->Detach({.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed}, outcomes_);

  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
}

TEST_F(WorkerQueueTest, WhatIsStillBeingReadWhenTheWorkerDiesIsLostAndTheNextWorkerServes) {
  Hang hang(dataset_);
  Give(10, 100);
  ASSERT_TRUE(hang.Begun());

  queue_->Detach({}, outcomes_);
  Attach();
  hang.End();
  ASSERT_TRUE(CollectSome(1));
  Give(11, 101);
  Answer(Take().sequence);
  ASSERT_TRUE(CollectSome(2));

  EXPECT_EQ(outcomes_[0].id, 10u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
  EXPECT_EQ(outcomes_[1].id, 11u);
  EXPECT_EQ(outcomes_[1].kind, OutcomeKind::kDone);
}

TEST_F(WorkerQueueTest, TheReaderWaitsForRoomInTheArena) {
  Give(10, 3000);
  Give(11, 3001);
  const DecodeRequest first = Take();
  DecodeRequest second{};
  ::poll(nullptr, 0, 20);
  ASSERT_EQ(requests_->Pop(second), shm::RingOutcome::kWait);

  Answer(first.sequence);
  ASSERT_TRUE(CollectSome(1));
  second = Take();

  EXPECT_EQ(second.input_offset, 0u);
  EXPECT_EQ(second.input_bytes, 3001u);
  EXPECT_EQ(mapping_.data()[kArenaOffset], std::byte{3001 % 256});
}

TEST_F(WorkerQueueTest, ASleepingWorkerIsWokenOnceAndAWakingOneNotAtAll) {
  shm::FallAsleep(channel_->worker_asleep);
  Give(10, 100);
  Take();
  EXPECT_TRUE(Eventually([&] { return channel_->worker_asleep.load() == 0; }));
  pollfd event{.fd = endpoint_->work_notifier().get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&event, 1, 10'000), 1);
  posix::DrainNotifications(endpoint_->work_notifier());

  Give(11, 101);
  Take();
  ::poll(nullptr, 0, 20);

  EXPECT_EQ(::poll(&event, 1, 0), 0);
}

TEST_F(WorkerQueueTest, ThousandsGoThroughInOrder) {
  GoThrough(5000);

  for (uint64_t i = 0; i < 5000; ++i) ASSERT_EQ(outcomes_[i].id, i);
}

}  // namespace
}  // namespace penstock::workers
