#include "client/src/session/ready_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/src/session/await.h"
#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {
namespace {

using ::testing::HasSubstr;

class ReadyBatchesTest : public ::testing::Test {
 protected:
  uint64_t TakeSequence() {
    const absl::StatusOr<ReadyBatches::Taken> taken = batches_.Take(nullptr, 0);
    EXPECT_TRUE(taken.ok()) << taken.status();
    if (!taken.ok()) return 0;
    taken->lease_owner->Hold();  // as a batch does
    return taken->batch.view.sequence;
  }
  void Release(uint64_t sequence) {
    batches_.attachment().Release(sequence);
    batches_.attachment().LetGo();
  }

  FakeDaemon daemon_;
  ReadyBatches batches_{daemon_.Attach().value()};
  Waits waits_;
};

TEST_F(ReadyBatchesTest, AnnouncedBatchesAreTakenInOrder) {
  EXPECT_FALSE(batches_.HasBatch());
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();

  EXPECT_EQ(TakeSequence(), 1u);
  EXPECT_FALSE(batches_.AllTaken());
  EXPECT_EQ(TakeSequence(), 2u);

  EXPECT_TRUE(batches_.AllTaken());
  EXPECT_FALSE(batches_.HasBatch());
  Release(1);
  Release(2);
}

TEST_F(ReadyBatchesTest, TheTrainerMayHoldItsWindow) {
  EXPECT_EQ(batches_.MostHeld(), kSlots);
  EXPECT_TRUE(batches_.WindowIsLimit());
  daemon_.AnnounceNext();

  const uint64_t sequence = TakeSequence();

  EXPECT_EQ(batches_.Held(), 1u);
  Release(sequence);
  EXPECT_EQ(batches_.Held(), 0u);
}

TEST_F(ReadyBatchesTest, ABatchOfAnEpochThatIsOverIsRefused) {
  daemon_.AnnounceNext();

  EXPECT_TRUE(absl::IsInternal(batches_.Take(nullptr, 1).status()));
}

TEST_F(ReadyBatchesTest, ClosedItKeepsWhatIsHeld) {
  daemon_.AnnounceNext();
  const absl::StatusOr<ReadyBatches::Taken> taken = batches_.Take(nullptr, 0);
  taken->lease_owner->Hold();

  batches_.Close();

  EXPECT_FALSE(batches_.open());
  EXPECT_TRUE(daemon_.link->closed.empty());
  taken->lease_owner->Release(1);
  taken->lease_owner->LetGo();
}

TEST_F(ReadyBatchesTest, ABatchIsNewsAndAnEndOnlyOnceAllBatchesAreTaken) {
  EXPECT_FALSE(LookFor(batches_).has_value());
  daemon_.AnnounceNext();
  daemon_.End(shm::SessionState::kFinished);

  EXPECT_EQ(LookFor(batches_), News::kBatch);
  Release(TakeSequence());

  EXPECT_EQ(LookFor(batches_), News::kEnd);
  EXPECT_EQ(Await(batches_, waits_, base::TimePoint(), 0).value(), News::kEnd);
}

TEST_F(ReadyBatchesTest, AfterTheDeadlineThereIsNoNewsAndTheWaitIsCounted) {
  EXPECT_EQ(Await(batches_, waits_, base::TimePoint(), 0).value(), News::kNone);

  EXPECT_GT(waits_.since_taken(), base::Duration::zero());
}

TEST_F(ReadyBatchesTest, ADaemonThatIsGoneIsAnError) {
  daemon_.link->dead = true;

  EXPECT_TRUE(absl::IsUnavailable(Await(batches_, waits_, base::TimePoint(), 0).status()));
}

TEST_F(ReadyBatchesTest, WhoHoldsTooMuchIsToldWhatToEnlarge) {
  EXPECT_THAT(HoardingStatus(batches_).message(), HasSubstr("with a larger window"));
}

}  // namespace
}  // namespace penstock::client
