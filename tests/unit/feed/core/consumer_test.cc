// Valid and invalid reports by consumers.
#include "tests/unit/feed/core/harness.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConsumerTest : public ::testing::Test {
 protected:
  ConsumerTest() {
    harness_.AddSlots(4);
    session_ = harness_.Open(1, Harness::Spec(1000, 2, 4));
    harness_.Decode();  // batches 1 to 4
  }

  void ExpectRefused(const absl::Status& status, const char* words) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr(words));
  }

  Harness harness_;
  SessionId session_;
};

TEST_F(ConsumerTest, MoreTakenThanAnnouncedIsRefused) {
  ExpectRefused(harness_.Take(session_, 5), "took 5 batches, but 4 were announced");
  ExpectRefused(harness_.Take(session_, UINT64_MAX), "4 were announced");
  EXPECT_EQ(harness_.core.View(session_)->taken, 0u);
}

TEST_F(ConsumerTest, TakingCannotGoBackwards) {
  ASSERT_TRUE(harness_.Take(session_, 3).ok());

  ExpectRefused(harness_.Take(session_, 2), "took 2 batches, but it reported 3 before");
}

TEST_F(ConsumerTest, WhatWasNeverAnnouncedCannotBeReleased) {
  ASSERT_TRUE(harness_.Take(session_, 4).ok());

  ExpectRefused(harness_.Release(session_, 5), "released batch 5, which was never announced");
  ExpectRefused(harness_.Release(session_, UINT64_MAX), "never announced");
  ExpectRefused(harness_.Release(session_, 0), "never announced");
}

TEST_F(ConsumerTest, WhatTheRunnerDoesNotKnowOfYetWasNotAnnounced) {
  ASSERT_TRUE(harness_.Take(session_, 1).ok());
  ASSERT_TRUE(harness_.Release(session_, 1).ok());
  for (int row = 0; row < 2; ++row) harness_.core.RowDone(harness_.Give());
  ASSERT_EQ(harness_.core.View(session_)->announced, 5u);

  ExpectRefused(harness_.Take(session_, 5), "4 were announced");
  harness_.Hear();

  EXPECT_TRUE(harness_.Take(session_, 5).ok());
}

TEST_F(ConsumerTest, ABatchThatWasNotTakenCannotBeReleased) {
  ASSERT_TRUE(harness_.Take(session_, 1).ok());

  ExpectRefused(harness_.Release(session_, 2), "released batch 2, but it took only 1");
}

TEST_F(ConsumerTest, ABatchCannotBeReleasedTwice) {
  ASSERT_TRUE(harness_.Take(session_, 3).ok());
  ASSERT_TRUE(harness_.Release(session_, 1).ok());
  ASSERT_TRUE(harness_.Release(session_, 3).ok());

  ExpectRefused(harness_.Release(session_, 1), "released batch 1 twice");
  ExpectRefused(harness_.Release(session_, 3), "released batch 3 twice");
}

TEST_F(ConsumerTest, ASessionThatIsNotOpenSaysNothing) {
  EXPECT_EQ(harness_.Take(SessionId(9), 0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(harness_.Release(SessionId(9), 1).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(harness_.core.Outstanding(SessionId(9)), IsEmpty());
  EXPECT_FALSE(harness_.core.View(SessionId(9)).has_value());
}

TEST_F(ConsumerTest, ALieChangesNothing) {
  ASSERT_TRUE(harness_.Take(session_, 2).ok());
  const SlotCounts before = harness_.core.Count(kArena);

  EXPECT_FALSE(harness_.Release(session_, 3).ok());
  EXPECT_FALSE(harness_.Take(session_, 9).ok());

  EXPECT_EQ(harness_.core.Count(kArena).held, before.held);
  EXPECT_EQ(harness_.core.View(session_)->released, 0u);
  EXPECT_EQ(harness_.core.View(session_)->taken, 2u);
}

TEST_F(ConsumerTest, OutstandingIsWhatWasAnnouncedAndNotReleased) {
  ASSERT_TRUE(harness_.Take(session_, 3).ok());
  ASSERT_TRUE(harness_.Release(session_, 2).ok());

  EXPECT_THAT(harness_.core.Outstanding(session_), ElementsAre(1, 3, 4));
}

TEST_F(ConsumerTest, BatchesAreReleasedInAnyOrder) {
  ASSERT_TRUE(harness_.Take(session_, 4).ok());
  for (uint64_t sequence : {4, 2, 1, 3}) ASSERT_TRUE(harness_.Release(session_, sequence).ok());

  EXPECT_THAT(harness_.core.Outstanding(session_), IsEmpty());
  EXPECT_EQ(harness_.core.View(session_)->released, 4u);
}

TEST_F(ConsumerTest, OneBatchKeptForeverLeavesTheRestOfTheWindowUsable) {
  ASSERT_TRUE(harness_.Take(session_, 1).ok());  // and keeps it
  for (uint64_t sequence = 2; sequence <= 100; ++sequence) {
    ASSERT_TRUE(harness_.Take(session_, sequence).ok());
    ASSERT_TRUE(harness_.Release(session_, sequence).ok());
    harness_.Decode();
  }

  EXPECT_EQ(harness_.core.View(session_)->announced, 103u);
}

// The control page has space for kMaxWindow sequences.
TEST_F(ConsumerTest, TheNewestBatchIsNeverAWindowsLimitAheadOfTheOldestKept) {
  ASSERT_TRUE(harness_.Take(session_, 1).ok());  // and keeps it
  for (uint64_t sequence = 2; sequence <= kMaxWindow; ++sequence) {
    ASSERT_TRUE(harness_.Take(session_, sequence).ok());
    ASSERT_TRUE(harness_.Release(session_, sequence).ok());
    harness_.Decode();
  }
  ASSERT_EQ(harness_.core.View(session_)->announced, kMaxWindow);
  EXPECT_FALSE(harness_.core.NextRow().has_value());

  ASSERT_TRUE(harness_.Release(session_, 1).ok());

  EXPECT_GT(harness_.Decode(), 0u);
}

}  // namespace
}  // namespace penstock::feed
