// The client's side of device delivery: slabs, releases in stream order, and refusals.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/client/device_fixture.h"

namespace penstock::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Refusals. ----

TEST_F(DeviceSessionTest, APageThatCannotBeRegisteredOpensNoSession) {
  gpu_->registering = absl::FailedPreconditionError("not here");

  EXPECT_FALSE(daemon_.Attach(gpu_).ok());
  EXPECT_THAT(daemon_.link->closed, IsEmpty());
}

TEST_F(DeviceSessionTest, NotesOutsideTheSessionsMemoryAreRefused) {
  for (const uint64_t offset : {uint64_t{0}, shm::kControlBytes + kSlots * kNotesBytes - 8,
                                ~uint64_t{7}, shm::kControlBytes + 4}) {
    FakeDaemon daemon{DeviceGrant()};
    daemon_.link->slabs.Open(Offer(), *gpu_).IgnoreError();
    ASSERT_TRUE(daemon.link->slabs.Open(Offer(), *gpu_).ok());
    shm::ControlEntry entry = Entry(daemon, 1);
    entry.notes_offset = offset;
    daemon.Announce(entry);
    SessionCore session(std::make_unique<FakeOpener>(&reopening_), daemon.Attach(gpu_).value(), {});

    EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal) << offset;
  }
}

TEST_F(DeviceSessionTest, NothingIsTakenFinishedOrReleasedIntoACapturedStream) {
  AnnounceNext();
  SessionCore session = Open();
  gpu_->captured.insert(stream_);
  EXPECT_EQ(session.Next(stream_, kNow).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(daemon_.page().taken, 0u);

  Result<Batch> batch = session.Next(kNow);
  const Status finished = batch->FinishInto(kAsStored, Target(), stream_);
  const Status released = batch->Release(stream_);

  EXPECT_EQ(finished.code(), Code::kFailedPrecondition);
  EXPECT_EQ(released.code(), Code::kFailedPrecondition);
  EXPECT_THAT(finished.message(), HasSubstr("captured into a graph"));
  EXPECT_EQ(gpu_->Waiting(stream_), 0u);
  EXPECT_THAT(batch->labels(), SizeIs(4));
}

TEST_F(DeviceSessionTest, AFinishIntoTheWrongMemoryIsRefusedAndTheBatchIsStillHeld) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  gpu_->plain_host = images_;

  const Status host = batch->FinishInto(kAsStored, Target(), stream_);
  const Status as_host_batch = batch->FinishInto(kAsStored, images_, sizeof(images_));
  const Status small = batch->FinishInto(kAsStored, {images_, 47, nullptr}, stream_);

  EXPECT_EQ(host.code(), Code::kInvalidArgument);
  EXPECT_THAT(host.message(), HasSubstr("'images' is not memory that the device can write to"));
  EXPECT_EQ(as_host_batch.code(), Code::kInvalidArgument);
  EXPECT_THAT(as_host_batch.message(), HasSubstr("this batch is on a GPU"));
  EXPECT_EQ(small.code(), Code::kInvalidArgument);
  EXPECT_EQ(gpu_->Waiting(stream_), 0u);
  gpu_->plain_host = nullptr;
  EXPECT_TRUE(batch->FinishInto(kAsStored, Target(), stream_).ok());
}

TEST_F(DeviceSessionTest, MemoryThatCannotHoldAFullBatchTakesNone) {
  AnnounceNext();
  SessionCore session = Open();

  const Result<Batch> batch = session.NextInto(kAsStored, {images_, 47, nullptr}, stream_, kNow);

  EXPECT_EQ(batch.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(daemon_.page().taken, 0u);
}

TEST_F(DeviceSessionTest, AForkedChildTouchesNothing) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  (void)batch->device_images();

  const pid_t child = ::fork();
  if (child == 0) {
    const Status finished = batch->FinishInto(kAsStored, Target(), stream_);
    const Status released = batch->Release(stream_);
    batch->Release();
    const bool right = finished.code() == Code::kFailedPrecondition && !released.ok() &&
                       gpu_->synchronized == 0 && Word(1) == 0;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(Word(1), 0u);
}

// ---- Delivery. ----

TEST_F(DeviceSessionTest, ABatchIsOnTheDeviceAndItsLabelsAreOnTheHostToo) {
  AnnounceNext();
  SessionCore session = Open();

  const Result<Batch> batch = session.Next(stream_, kNow);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_TRUE(batch->on_device());
  EXPECT_THAT(batch->images(), IsEmpty());
  EXPECT_THAT(std::span(batch->device_images(), 48), Each(1));
  EXPECT_THAT(std::span(batch->device_labels(), 4), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(batch->labels(), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(batch->sample_ids(), ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(gpu_->registered, ElementsAre(Gpu::Access::kReadWrite));
}

TEST_F(DeviceSessionTest, AFinishIsReleasedBehindItInTheStreamsOrder) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(stream_, kNow);

  ASSERT_TRUE(batch->FinishInto(kAsStored, Target(), stream_).ok());

  EXPECT_EQ(gpu_->Waiting(stream_), 2u);
  EXPECT_EQ(Word(1), 0u);
  EXPECT_EQ(images_[0], 0);
  gpu_->Run(stream_);
  EXPECT_EQ(Word(1), 1u);
  EXPECT_THAT(images_, Each(1));
  EXPECT_THAT(labels_, ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(gpu_->synchronized, 0);
}

TEST_F(DeviceSessionTest, AReleasedBatchKeepsItsNumbersAndLosesItsViews) {
  AnnounceNext();
  SessionCore session = Open();

  const Result<Batch> batch = session.NextInto(kAsStored, Target(), stream_, kNow);

  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->rows(), 4u);
  EXPECT_EQ(batch->first(), 0u);
  EXPECT_THAT(batch->labels(), IsEmpty());
  EXPECT_THAT(batch->sample_ids(), IsEmpty());
  EXPECT_EQ(batch->device_images(), nullptr);
  gpu_->Run(stream_);
  EXPECT_EQ(Word(1), 1u);
}

TEST_F(DeviceSessionTest, ReleasesOfDifferentStreamsComeInTheirOwnOrder) {
  const Stream other = FakeGpu::Named(2);
  AnnounceNext();
  AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.NextInto(kAsStored, Target(), stream_, kNow).ok());
  ASSERT_TRUE(session.NextInto(kAsStored, Target(), other, kNow).ok());

  gpu_->Run(other);
  EXPECT_EQ(Word(1), 0u);
  EXPECT_EQ(Word(2), 2u);
  gpu_->Run(stream_);
  EXPECT_EQ(Word(1), 1u);
}

TEST_F(DeviceSessionTest, RawAccessIsReleasedByItsStream) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(stream_, kNow);
  ASSERT_NE(batch->device_images(), nullptr);

  ASSERT_TRUE(batch->Release(stream_).ok());

  EXPECT_EQ(Word(1), 0u);
  gpu_->Run(stream_);
  EXPECT_EQ(Word(1), 1u);
  EXPECT_EQ(gpu_->synchronized, 0);
}

TEST_F(DeviceSessionTest, ABatchThatMayStillBeReadIsReleasedOnceTheDeviceIsDone) {
  AnnounceNext();
  SessionCore session = Open();
  {
    const Result<Batch> batch = session.Next(stream_, kNow);
    (void)batch->device_images();
  }

  EXPECT_EQ(gpu_->synchronized, 1);
  EXPECT_EQ(Word(1), 1u);
}

TEST_F(DeviceSessionTest, ABatchThatNobodyLookedAtIsReleasedWithoutWaiting) {
  AnnounceNext();
  SessionCore session = Open();

  (void)session.Next(stream_, kNow);

  EXPECT_EQ(gpu_->synchronized, 0);
  EXPECT_EQ(Word(1), 1u);
}

TEST_F(DeviceSessionTest, ABatchIsNotReleasedWhenItsReadersCannotBeWaitedFor) {
  AnnounceNext();
  SessionCore session = Open();
  gpu_->synchronizing = absl::InternalError("an illegal memory access was encountered");
  {
    const Result<Batch> batch = session.Next(stream_, kNow);
    (void)batch->device_images();
  }

  EXPECT_EQ(Word(1), 0u);
}

TEST_F(DeviceSessionTest, AFinishThatWasNotReleasedIsWaitedFor) {
  AnnounceNext();
  SessionCore session = Open();
  gpu_->writing = absl::InternalError("no");
  {
    Result<Batch> batch = session.Next(stream_, kNow);
    EXPECT_FALSE(batch->FinishInto(kAsStored, Target(), stream_).ok());
    EXPECT_EQ(Word(1), 0u);
  }

  EXPECT_EQ(gpu_->synchronized, 1);
  EXPECT_EQ(Word(1), 1u);
}

TEST_F(DeviceSessionTest, ASlabThatCameLaterIsAskedForOnceAndProved) {
  SessionCore session = Open();
  std::byte* later = gpu_->Export(8);
  daemon_.link->offers = {Offer(), Offer(8)};
  daemon_.slab = later;
  daemon_.Announce(Entry(daemon_, 1, 8));
  daemon_.Announce(Entry(daemon_, 2, 8));

  EXPECT_TRUE(session.Next(kNow).ok());
  EXPECT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(daemon_.link->fetches, 1);
  EXPECT_EQ(gpu_->opened, 2);
}

TEST_F(DeviceSessionTest, ASlabThatTheDaemonDoesNotKnowEitherFailsTheSession) {
  SessionCore session = Open();
  daemon_.Announce(Entry(daemon_, 1, 9));

  const Status status = session.Next(kNow).status();

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("slab 9, but never sent it"));
}

TEST_F(DeviceSessionTest, HoldingAllPlacesInGpuMemoryIsAnErrorOfItsOwn) {
  AnnounceNext();
  AnnounceNext();
  SessionCore session = Open();
  const Result<Batch> first = session.Next(kNow), second = session.Next(kNow);

  const Status status = session.Next(kNow).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("holds 2 batches, all that its places in GPU memory"));
  EXPECT_THAT(status.message(), HasSubstr("larger device_depth"));
}

// ---- Ending. ----

TEST_F(DeviceSessionTest, ThePageStaysUntilTheStreamHasReleasedEverything) {
  AnnounceNext();
  {
    SessionCore session = Open();
    ASSERT_TRUE(session.NextInto(kAsStored, Target(), stream_, kNow).ok());
    ASSERT_TRUE(session.Close().ok());
  }
  // The stream hasn't released the batch yet, so the page stays until it does.
  EXPECT_THAT(daemon_.link->closed, SizeIs(1));
  EXPECT_EQ(gpu_->alive, 2);

  gpu_->Run(stream_);

  EXPECT_EQ(Word(1), 1u);
  (void)second_.Attach(gpu_);  // checks the kept pages again
  EXPECT_EQ(gpu_->alive, 1);
}

TEST_F(DeviceSessionTest, AfterTheLastWordNothingIsKeptButTheConnectionsSlabs) {
  AnnounceNext();
  {
    SessionCore session = Open();
    ASSERT_TRUE(session.NextInto(kAsStored, Target(), stream_, kNow).ok());
    gpu_->Run(stream_);
  }

  EXPECT_EQ(gpu_->alive, 1);
  EXPECT_THAT(daemon_.link->closed, SizeIs(1));
}

TEST_F(DeviceSessionTest, AfterARestartOldBatchesLiveOnAndNewOnesComeFromNewSlabs) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> held = session.Next(stream_, kNow);
  daemon_.link->dead = true;
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);
  ASSERT_TRUE(second_.link->slabs.Open(Offer(kSlabId + 1), *gpu_).ok());
  second_.Announce(Entry(second_, 1, kSlabId + 1));

  Result<Batch> next = session.Next(stream_, std::chrono::seconds(1));

  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_NE(next->device_images(), held->device_images());
  EXPECT_THAT(std::span(held->device_images(), 48), Each(1));
  EXPECT_TRUE(held->FinishInto(kAsStored, Target(), stream_).ok());
  EXPECT_TRUE(next->Release(stream_).ok());
  gpu_->Run(stream_);
  EXPECT_EQ(Word(1), 1u);
  EXPECT_EQ(second_.page().released[0], 1u);
}

}  // namespace
}  // namespace penstock::client
