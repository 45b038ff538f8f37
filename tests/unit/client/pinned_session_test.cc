// Pinned delivery: it copies one batch ahead, releases slots once they are copied, and overwrites a
// place in GPU memory only after its readers.
#include "tests/unit/client/fake_gpu.h"
#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Finish kAsStored = {.type = Type::kUInt8, .layout = Layout::kNHWC};

Grant PinnedGrant() {
  Grant grant = SmallGrant();
  grant.delivery = Delivery::kPinned;
  grant.device_depth = 2;
  return grant;
}

class PinnedSessionTest : public ::testing::Test {
 protected:
  SessionCore Open() {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach(gpu_).value(), {});
  }
  uint64_t Word(uint64_t sequence) { return daemon_.page().released[sequence - 1].load(); }
  Into Target() { return {images_, sizeof(images_), labels_}; }

  const std::shared_ptr<FakeGpu> gpu_ = std::make_shared<FakeGpu>();
  FakeDaemon daemon_{PinnedGrant()}, second_{PinnedGrant()};
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = gpu_};
  const Stream stream_ = FakeGpu::Named(1);
  uint8_t images_[48] = {};
  int64_t labels_[4] = {};
};

TEST_F(PinnedSessionTest, ASegmentThatCannotBeRegisteredFailsTheSession) {
  gpu_->registering = absl::FailedPreconditionError("invalid argument");
  daemon_.AnnounceNext();
  SessionCore session = Open();

  const Status status = session.Next(stream_, kNow).status();

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("registering segment 7"));
}

TEST_F(PinnedSessionTest, AStreamWaitsForTheCopyAndTheHostDoesNot) {
  daemon_.AnnounceNext();
  SessionCore session = Open();

  const Result<Batch> batch = session.NextInto(kAsStored, Target(), stream_, kNow);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  gpu_->Run(stream_);
  EXPECT_EQ(images_[0], 0);  // nothing has been copied yet
  gpu_->RunAll();
  EXPECT_THAT(images_, Each(1));
  EXPECT_THAT(labels_, ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(gpu_->synchronized, 0);
}

TEST_F(PinnedSessionTest, WithoutAStreamTheBatchIsThere) {
  daemon_.AnnounceNext();
  SessionCore session = Open();

  const Result<Batch> batch = session.Next(kNow);

  ASSERT_TRUE(batch.ok());
  EXPECT_TRUE(batch->on_device());
  EXPECT_THAT(batch->images(), IsEmpty());
  EXPECT_THAT(std::span(batch->device_images(), 48), Each(1));
  EXPECT_THAT(batch->labels(), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(batch->sample_ids(), ElementsAre(100, 101, 102, 103));
}

TEST_F(PinnedSessionTest, AFinishOnAnotherStreamWaitsForTheCopyToo) {
  const Stream other = FakeGpu::Named(2);
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(stream_, kNow);

  ASSERT_TRUE(batch->FinishInto(kAsStored, Target(), other).ok());

  gpu_->Run(other);
  EXPECT_EQ(images_[0], 0);
  gpu_->RunAll();
  EXPECT_THAT(images_, Each(1));
}

TEST_F(PinnedSessionTest, TheHostsSlotComesBackOnceItIsCopied) {
  daemon_.page().daemon_asleep.store(1);
  daemon_.AnnounceNext();
  SessionCore session = Open();
  const Result<Batch> batch = session.Next(stream_, kNow);
  EXPECT_EQ(Word(1), 0u);

  gpu_->Run(gpu_->copy_stream());

  EXPECT_EQ(Word(1), 1u);
  EXPECT_THAT(batch->labels(), SizeIs(4));
}

TEST_F(PinnedSessionTest, OneBatchIsCopiedAheadAndNoMore) {
  for (int i = 0; i < 4; ++i) daemon_.AnnounceNext();
  SessionCore session = Open();

  const Result<Batch> batch = session.Next(stream_, kNow);

  EXPECT_EQ(gpu_->copies, 2);
  EXPECT_EQ(session.state().consumed, 4u);  // counts what was returned, not what was copied ahead
}

TEST_F(PinnedSessionTest, APlaceIsWrittenAgainOnlyBehindItsReader) {
  for (int i = 0; i < 3; ++i) daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.NextInto(kAsStored, Target(), stream_, kNow).ok());
  const Result<Batch> second = session.Next(stream_, kNow);
  EXPECT_EQ(gpu_->copies, 3);  // batch 3 reuses batch 1's place

  gpu_->Run(gpu_->copy_stream());
  EXPECT_GT(gpu_->Waiting(gpu_->copy_stream()), 0u);  // waits for the finish of batch 1
  gpu_->Run(stream_);
  EXPECT_THAT(images_, Each(1));
  gpu_->RunAll();
  EXPECT_EQ(gpu_->Waiting(gpu_->copy_stream()), 0u);
}

TEST_F(PinnedSessionTest, HoldingAllPlacesInGpuMemoryIsAnErrorOfItsOwn) {
  for (int i = 0; i < 3; ++i) daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> first = session.Next(kNow), second = session.Next(kNow);
  ASSERT_TRUE(second.ok());

  EXPECT_THAT(session.Next(kNow).status().message(),
              HasSubstr("holds 2 batches, all that its places in GPU memory allow"));
  first->Release();
  EXPECT_TRUE(session.Next(kNow).ok());
}

TEST_F(PinnedSessionTest, AnEpochEndsWhenItsLastBatchWasReturned) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  shm::ControlEntry next = daemon_.Entry(2);
  next.epoch = 1;
  next.first = 0;
  next.step = 0;
  next.consumed = 4;
  daemon_.Announce(next);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(stream_, kNow)->last_of_epoch());
  EXPECT_EQ(session.Next(stream_, kNow).status().code(), Code::kEndOfEpoch);
  EXPECT_EQ(session.Next(stream_, kNow)->epoch(), 1u);
}

TEST_F(PinnedSessionTest, AfterARestartWhatWasAheadIsAskedForAgain) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> held = session.Next(stream_, kNow);
  daemon_.link->dead = true;
  ASSERT_TRUE(session.Next(stream_, kNow).ok());  // already copied
  EXPECT_EQ(session.Next(stream_, kNow).status().code(), Code::kUnavailable);
  second_.AnnounceNext();

  const Result<Batch> next = session.Next(stream_, std::chrono::seconds(1));

  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_EQ(reopening_.asked.at(0).consumed, 8u);
  EXPECT_TRUE(held->FinishInto(kAsStored, Target(), stream_).ok());
  gpu_->RunAll();
  EXPECT_THAT(images_, Each(1));
}

TEST_F(PinnedSessionTest, TheEndWaitsForCopiesAndFreesEverything) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  {
    SessionCore session = Open();
    const Result<Batch> batch = session.Next(stream_, kNow);
    ASSERT_TRUE(session.Close().ok());
    EXPECT_THAT(daemon_.link->closed, IsEmpty());  // the batch still exists
  }

  EXPECT_THAT(daemon_.link->closed, SizeIs(1));
  EXPECT_EQ(Word(2), 2u);
  EXPECT_EQ(gpu_->alive, 0);
}

TEST_F(PinnedSessionTest, TwoSessionsRegisterASegmentOnce) {
  FakeLink& link = *daemon_.link;
  const auto first = link.Pin(kSegmentId, *gpu_), second = link.Pin(kSegmentId, *gpu_);

  EXPECT_EQ(*first, *second);
  EXPECT_THAT(gpu_->registered, ElementsAre(Gpu::Access::kReadOnly));
}

}  // namespace
}  // namespace penstock::client
