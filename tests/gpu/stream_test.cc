#include "common/cuda/stream.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/cuda/registration.h"
#include "common/posix/memory.h"
#include "tests/gpu/gpu.h"

namespace penstock::cuda {
namespace {

using gpu::Must;

constexpr size_t kManyBytes = 512 << 20;  // about ten milliseconds of copying

// Has a page that the GPU can write to, and keeps a stream busy.
class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    memory_ = Must(posix::MakeMemory("page", 4096));
    page_ = Must(posix::Mapping::Map(memory_, 4096, posix::Access::kReadWrite));
    device_ = Must(Devices())[Must(CurrentDevice())];
    pinned_ = Must(PinnedMemory::Make(kManyBytes));
    target_ = Must(DeviceMemory::Make(kManyBytes));
    registration_ =
        Must(Registration::Make(page_.data(), 4096, Registration::HostAccess::kReadWrite));
  }

  uint64_t* word() { return reinterpret_cast<uint64_t*>(page_.data()); }
  uint64_t Read() { return std::atomic_ref(*word()).load(std::memory_order_acquire); }

  absl::Status Write(StreamHandle stream, uint64_t value, bool memory_ops) {
    const uint64_t at = Must(registration_.DeviceAddress(page_.data()));
    return WriteWhenReached(stream, word(), at, value, memory_ops);
  }
  absl::Status KeepBusy(StreamHandle stream) {
    return CopyToDevice(target_.data(), pinned_.data(), kManyBytes, stream);
  }

  posix::Fd memory_;
  posix::Mapping page_;
  Device device_;
  PinnedMemory pinned_;
  DeviceMemory target_;
  Registration registration_;
};

// Tests both ways of writing, on all kinds of streams.
TEST_F(StreamTest, AWordIsWrittenBehindWhatIsInTheStreamOnEveryKindOfStream) {
  const Stream own = Must(Stream::Make());
  uint64_t value = 0;
  for (const bool memory_ops : {false, true}) {
    if (memory_ops && !device_.stream_memory_ops) continue;
    for (StreamHandle stream : {own.get(), StreamHandle{nullptr}, StreamHandle{cudaStreamLegacy},
                                StreamHandle{cudaStreamPerThread}}) {
      const uint64_t before = value++;
      ASSERT_OK(KeepBusy(stream));
      ASSERT_OK(Write(stream, value, memory_ops));
      EXPECT_EQ(Read(), before) << "written before the stream came to it";

      ASSERT_OK(Synchronize(stream));

      EXPECT_EQ(Read(), value);
    }
  }
}

TEST_F(StreamTest, AThreadThatNeverUsedCudaWritesOnTheDefaultStream) {
  absl::Status status;

  std::thread([&] { status = Write(nullptr, 7, device_.stream_memory_ops); }).join();

  ASSERT_OK(status);
  ASSERT_OK(SynchronizeDevice());
  EXPECT_EQ(Read(), 7u);
}

TEST_F(StreamTest, AFunctionIsCalledBehindWhatIsInTheStream) {
  const Stream stream = Must(Stream::Make());
  std::atomic<int> calls = 0;
  ASSERT_OK(KeepBusy(stream.get()));
  ASSERT_OK(CallWhenReached(
      stream.get(), [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, &calls));
  EXPECT_EQ(calls, 0);

  ASSERT_OK(Synchronize(stream.get()));

  EXPECT_EQ(calls, 1);
}

TEST_F(StreamTest, AnEventIsDoneOnceItsStreamCameToIt) {
  const Stream stream = Must(Stream::Make());
  Event event = Must(Event::Make());
  ASSERT_OK(KeepBusy(stream.get()));
  ASSERT_OK(event.Record(stream.get()));
  EXPECT_FALSE(Must(event.Done()));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "not ready is no error";

  ASSERT_OK(event.Wait());

  EXPECT_TRUE(Must(event.Done()));
}

TEST_F(StreamTest, AStreamThatWaitsForAnEventGoesOnBehindIt) {
  const Stream first = Must(Stream::Make()), second = Must(Stream::Make());
  Event event = Must(Event::Make(Event::Waiting::kSpinning));
  ASSERT_OK(KeepBusy(first.get()));
  ASSERT_OK(event.Record(first.get()));
  ASSERT_OK(event.MakeWait(second.get()));
  ASSERT_OK(Write(second.get(), 5, device_.stream_memory_ops));
  EXPECT_EQ(Read(), 0u);

  ASSERT_OK(Synchronize(second.get()));

  EXPECT_TRUE(Must(event.Done()));
  EXPECT_EQ(Read(), 5u);
}

TEST_F(StreamTest, AStreamThatIsBeingCapturedIsKnown) {
  const Stream stream = Must(Stream::Make());
  auto* raw = static_cast<cudaStream_t>(stream.get());
  EXPECT_FALSE(Must(IsCapturing(stream.get())));
  ASSERT_EQ(cudaStreamBeginCapture(raw, cudaStreamCaptureModeThreadLocal), cudaSuccess);

  EXPECT_TRUE(Must(IsCapturing(stream.get())));

  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(raw, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_FALSE(Must(IsCapturing(stream.get())));
}

TEST_F(StreamTest, AStopwatchTimesACopy) {
  const Stream stream = Must(Stream::Make());
  Stopwatch watch = Must(Stopwatch::Make());
  ASSERT_OK(watch.Start(stream.get()));
  ASSERT_OK(KeepBusy(stream.get()));
  ASSERT_OK(watch.Stop(stream.get()));

  const double seconds = Must(watch.Seconds());

  EXPECT_GT(seconds, kManyBytes / 200e9);
  EXPECT_LT(seconds, kManyBytes / 0.2e9);
}

TEST_F(StreamTest, CopiesGiveTheSameBytesThereAndBack) {
  constexpr size_t kBytes = 1000001;
  const auto pattern = gpu::Pattern(kBytes, 8);
  const Stream stream = Must(Stream::Make());
  std::vector<std::byte> back(kBytes);

  ASSERT_OK(CopyToDevice(target_.data(), pattern.data(), kBytes, stream.get()));
  ASSERT_OK(CopyOnDevice(target_.data() + (4 << 20), target_.data(), kBytes, stream.get()));
  ASSERT_OK(CopyToHost(back.data(), target_.data() + (4 << 20), kBytes, stream.get()));

  EXPECT_EQ(back, pattern);
}

}  // namespace
}  // namespace penstock::cuda
