// A queue while the samples' sources fail or hang.
#include "tests/unit/workers/queue_rig.h"

namespace penstock::workers {
namespace {

// The caller decides when to retry, so the queue doesn't wait.
TEST_F(WorkerQueueTest, WhatCannotBeReadEndsAtOnceAndTheNextIsServed) {
  dataset_.open_failures = 1;
  dataset_.read_failures = 1;
  Give(10, 100);
  Give(11, 101);
  Give(12, 102);

  const DecodeRequest request = Take();

  EXPECT_EQ(request.input_offset, 0u);
  EXPECT_EQ(request.input_bytes, 102u);
  EXPECT_EQ(mapping_.data()[kArenaOffset + 101], std::byte{102});
  ASSERT_TRUE(CollectSome(2));
  EXPECT_EQ(outcomes_[0].id, 10u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kSourceFailed);
  EXPECT_EQ(outcomes_[0].status, absl::UnavailableError("the disk is away"));
  EXPECT_EQ(outcomes_[1].status, absl::UnavailableError("the read failed"));
  Answer(request.sequence);
  ASSERT_TRUE(CollectSome(3));
  EXPECT_EQ(outcomes_[2].kind, OutcomeKind::kDone);
  EXPECT_EQ(queue_->held(), 0u);
}

TEST_F(WorkerQueueTest, AReadThatDoesNotComeBackHoldsUpNobodyAndIsServedOnceItDoes) {
  Hang hang(dataset_);
  Give(10, 100);
  Give(11, 101);
  ASSERT_TRUE(hang.Begun());

  ASSERT_TRUE(Overdue({10}));
  const DecodeRequest other = Take();
  Answer(other.sequence);
  ASSERT_TRUE(CollectSome(1));

  EXPECT_EQ(outcomes_[0].id, 11u);
  EXPECT_EQ(other.input_bytes, 101u);
  EXPECT_EQ(queue_->outstanding(), 0u);
  EXPECT_EQ(queue_->held(), 1u);
  EXPECT_EQ(loose_.count(), 1u);

  hang.End();
  const DecodeRequest late = Take();
  EXPECT_EQ(late.input_bytes, 100u);
  EXPECT_EQ(mapping_.data()[kArenaOffset + late.input_offset], std::byte{100});
  Answer(late.sequence);
  ASSERT_TRUE(CollectSome(2));
  EXPECT_EQ(outcomes_[1].id, 10u);
  EXPECT_EQ(outcomes_[1].kind, OutcomeKind::kDone);
  EXPECT_TRUE(Eventually([&] {
    loose_.Sweep();
    return loose_.count() == 0;
  }));
}

TEST_F(WorkerQueueTest,
       ThousandsGoThroughBesideAReadThatDoesNotComeBackAndNobodyWritesIntoItsPlace) {
  Hang hang(dataset_);
  Give(10'000, 77);
  ASSERT_TRUE(hang.Begun());
  ASSERT_TRUE(Overdue({10'000}));

  GoThrough(1000);

  hang.End();
  const DecodeRequest late = Take();
  EXPECT_EQ(late.input_bytes, 77u);
  for (uint64_t i = 0; i < 77; ++i)
    ASSERT_EQ(mapping_.data()[kArenaOffset + late.input_offset + i], std::byte{77});
}

TEST_F(WorkerQueueTest, WhatIsReadAsideTakesNoPlaceAndWaitsBehindNobody) {
  Hang hang(dataset_);
  Give(10, 100);
  ASSERT_TRUE(hang.Begun());

  ASSERT_TRUE(queue_->GiveAside({.id = 11, .dataset = &other_, .sample = 101}));

  EXPECT_EQ(Take().input_bytes, 101u);
  hang.End();
  EXPECT_EQ(Take().input_bytes, 100u);
}

TEST_F(WorkerQueueTest, WhatWaitsForTheSameStorageIsHandedBackAndNothingElse) {
  Hang hang(dataset_);
  Give(10, 100);
  Give(11, 101);
  queue_->Give({.id = 12, .dataset = &other_, .sample = 102});
  Give(13, 103);
  ASSERT_TRUE(hang.Begun());

  queue_->HandBack(dataset_);

  ASSERT_TRUE(CollectSome(2));
  EXPECT_EQ(outcomes_[0].id, 11u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
  EXPECT_EQ(outcomes_[1].id, 13u);
  ASSERT_TRUE(Overdue({10}));
  EXPECT_EQ(Take().input_bytes, 102u);
  hang.End();
}

TEST_F(WorkerQueueTest, NoMoreAreLeftBehindThanMayBe) {
  Hang hang(dataset_);
  posix::LooseThreads none(0);
  queue_.reset();
  queue_ = std::make_unique<WorkerQueue>(WorkerQueue::Options{.limits = {.max_bytes = kArena}},
                                         wake_, none);
  Attach();
  Give(10, 100);
  ASSERT_TRUE(hang.Begun());

  EXPECT_TRUE(queue_->TakeOverdue(base::Now() + seconds(60)).empty());
  EXPECT_FALSE(queue_->GiveAside({.id = 11, .dataset = &other_, .sample = 101}));

  hang.End();
  EXPECT_EQ(Take().input_bytes, 100u);
}

TEST_F(WorkerQueueTest, AQueueGoesWithoutTheReadsThatItLeftBehind) {
  Hang hang(dataset_);
  Give(10, 100);
  ASSERT_TRUE(hang.Begun());
  ASSERT_TRUE(Overdue({10}));
  const base::TimePoint before = base::Now();

  queue_->Detach({}, outcomes_);
  queue_.reset();

  EXPECT_LT(base::Now() - before, seconds(10));
  hang.End();
}

TEST_F(WorkerQueueTest, AReadThatComesBackToANewWorkerIsLostAndNotWritten) {
  Hang hang(dataset_);
  Give(10, 100);
  ASSERT_TRUE(hang.Begun());
  ASSERT_TRUE(Overdue({10}));

  queue_->Detach({.kind = OutcomeKind::kStrike}, outcomes_);
  EXPECT_TRUE(outcomes_.empty());
  Attach();
  hang.End();

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
}

TEST_F(WorkerQueueTest, WhereWhatWasLeftBehindLeavesNoRoomTheWorkerIsToBeReplaced) {
  Hang hang(dataset_);
  Give(10, 3000);
  ASSERT_TRUE(hang.Begun());
  ASSERT_TRUE(Overdue({10}));
  EXPECT_FALSE(queue_->IsCrowded());

  Give(11, 3001);

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].id, 11u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
  EXPECT_TRUE(queue_->IsCrowded());
  hang.End();
}

// ---- Workers are told of several short items at once, and yet never wait long for one that is
// there.

using std::chrono::microseconds;

TEST(AnnouncementsTest, HoldBackOnlyWithinASeriesOfShortItems) {
  constexpr microseconds kShort(20), kLong(500);
  Announcements announcements;
  for (uint32_t i = 0; i < Announcements::kSeries; ++i) EXPECT_TRUE(announcements.Note(kShort));
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 1; i < Announcements::kSeries; ++i) EXPECT_FALSE(announcements.Note(kShort));
    EXPECT_TRUE(announcements.Note(kShort));
  }
  EXPECT_FALSE(announcements.Take());
  EXPECT_FALSE(announcements.Note(kShort));
  EXPECT_TRUE(announcements.Note(kLong));
  for (uint32_t i = 0; i < Announcements::kSeries; ++i) EXPECT_TRUE(announcements.Note(kShort));
  EXPECT_FALSE(announcements.Note(kShort));
  EXPECT_TRUE(announcements.Take());
  EXPECT_FALSE(announcements.Take());
}

class AnnouncementTest : public WorkerQueueTest {
 protected:
  // After a series of short items the reader waits for room; item 1011 is before item 1012 in the
  // inbox. The worker sleeps.
  void SetUp() override {
    WorkerQueueTest::SetUp();
    GoThrough(2 * Announcements::kSeries);
    outcomes_.clear();
    Give(1010, kArena);
    first_ = Take().sequence;
    Give(1011, 100);
    queue_->Give({.id = 1012, .dataset = &other_, .sample = 101});
    posix::DrainNotifications(endpoint_->work_notifier());
    shm::FallAsleep(channel_->worker_asleep);
  }
  void MakeRoom() {
    Answer(first_);
    EXPECT_TRUE(CollectSome(1));
  }
  bool IsNotified() const {
    pollfd entry = {.fd = endpoint_->work_notifier().get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 20'000) == 1;
  }

 private:
  uint64_t first_ = 0;
};

TEST_F(AnnouncementTest, BeforeTheReaderWaits) {
  MakeRoom();
  EXPECT_TRUE(IsNotified());
  EXPECT_EQ(Take().input_bytes, 100u);
  EXPECT_EQ(Take().input_bytes, 101u);
}

TEST_F(AnnouncementTest, BeforeTheReaderWaitsAfterAReadThatFails) {
  other_.read_failures = 1;
  MakeRoom();
  EXPECT_TRUE(IsNotified());
  EXPECT_EQ(Take().input_bytes, 100u);
}

TEST_F(AnnouncementTest, AtTheNextTickWhileAReadHangs) {
  Hang hang(other_);
  MakeRoom();
  ASSERT_TRUE(hang.Begun());
  EXPECT_TRUE(queue_->TakeOverdue(base::Now()).empty());
  EXPECT_TRUE(IsNotified());
  EXPECT_EQ(Take().input_bytes, 100u);
}

TEST_F(AnnouncementTest, BeforeTheReaderWaitsForRoom) {
  Give(1013, kArena);
  MakeRoom();
  EXPECT_TRUE(IsNotified());
  EXPECT_EQ(Take().input_bytes, 100u);
  EXPECT_EQ(Take().input_bytes, 101u);
}

}  // namespace
}  // namespace penstock::workers
