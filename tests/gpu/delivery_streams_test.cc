// Batches follow stream order: on any stream, beside busy streams, into graphs' memory, without
// blocking the host.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/cuda/registration.h"
#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

using std::chrono::steady_clock;
using testing::DaemonProcess;
using testing::Delivered;
using ::testing::HasSubstr;
using testing::OneEpoch;
using testing::ProgramPath;
using testing::RunProgram;
using testing::SmallRows;

constexpr uint32_t kRows = 8;  // per batch

double Microseconds(steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

class DeliveryStreamsTest : public ::testing::TestWithParam<Delivery> {
 protected:
  static DaemonProcess& Daemon() {
    static DaemonProcess daemon({.workers = 2});
    return daemon;
  }
  static const Delivered& Expected() {
    static const Delivered expected =
        OneEpoch(Daemon().address(), SmallRows(TestPhotographs(), kRows));
    return expected;
  }
  SessionOptions Options() const {
    return On({"cuda:0", GetParam()}, SmallRows(TestPhotographs(), kRows));
  }
  Session Open(const SessionOptions& options) {
    return Client::Connect({.address = Daemon().address()}).OrDie().Open(options).OrDie();
  }
};

INSTANTIATE_TEST_SUITE_P(All, DeliveryStreamsTest,
                         ::testing::Values(Delivery::kDevice, Delivery::kPinned),
                         [](const auto& info) { return std::string(DeliveryName(info.param)); });

TEST_P(DeliveryStreamsTest, NothingIsPutIntoAStreamThatIsCaptured) {
  Session session = Open(Options());
  const Desk desk(session);
  const cuda::DeviceScope scope(session.device());
  Batch batch = session.Next(desk.stream()).OrDie();
  const auto stream = static_cast<cudaStream_t>(desk.stream());
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);

  const Status next = session.Next(desk.stream()).status();
  const Status finished = batch.FinishInto(kAsStored, desk.into(), desk.stream());
  const Status released = batch.Release(desk.stream());

  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);  // the capture is still valid
  cudaGraphDestroy(graph);
  for (const Status& status : {next, finished, released}) {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("captured into a graph"));
  }
  EXPECT_TRUE(batch.FinishInto(kAsStored, desk.into(), desk.stream()).ok());
}

TEST_P(DeliveryStreamsTest, HostMemoryIsRefusedAsTheTargetOfADevicesFinish) {
  Session session = Open(Options());
  std::vector<uint8_t> images(size_t{kRows} * 32 * 32 * 3);

  const Status status =
      session.NextInto(kAsStored, {images.data(), images.size(), nullptr}, nullptr).status();

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("not memory that the device can write to"));
}

TEST_P(DeliveryStreamsTest, DeviceMemoryIsRefusedAsTheTargetOfAHostsFinish) {
  Session there = Open(Options());
  const Desk desk(there);
  Session here = Open(SmallRows(TestPhotographs(), kRows));

  const Status status = here.NextInto(kAsStored, desk.into(), nullptr).status();

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("not memory that the host can use"));
}

TEST_P(DeliveryStreamsTest, EveryKindOfStreamGetsTheRightBytes) {
  for (const Stream named :
       {Stream(nullptr), Stream(cudaStreamLegacy), Stream(cudaStreamPerThread)}) {
    Session session = Open(Options());
    const Desk desk(session);
    Delivered got;
    const cuda::DeviceScope scope(session.device());
    const Status end = TakeOnGpu(session, desk, named, std::numeric_limits<uint64_t>::max(), got);
    EXPECT_EQ(end.code(), Code::kEndOfEpoch) << end.ToString();
    EXPECT_TRUE(got == Expected()) << named;
  }
}

TEST_P(DeliveryStreamsTest, ProgramsThatBlockAtEachLaunchGetTheRightBytes) {
  const testing::Ended trainer =
      RunProgram("/usr/bin/env",
                 {"CUDA_LAUNCH_BLOCKING=1", ProgramPath("penstock-gpu-trainer"), Daemon().address(),
                  TestPhotographs(), "epoch", "cuda:0", DeliveryName(GetParam())});

  EXPECT_THAT(trainer.output,
              HasSubstr(absl::StrCat(DigestOf(Expected()), " ", DeliveryName(GetParam()))));
}

// With frameworks' tensors, work on a new stream may read what another stream is still writing. A
// batch is complete on the GPU before it is delivered, so a stream without dependencies may read it
// at once.
TEST_P(DeliveryStreamsTest, AFreshStreamReadsBatchesWhileOthersAreBusy) {
  Session session = Open(Options());
  const Desk desk(session);
  const cuda::DeviceScope scope(session.device());
  Delivered got;
  for (uint64_t step = 0; step < 10; ++step) {
    Spin(0.005, nullptr);
    const cuda::Stream fresh = Must(cuda::Stream::Make());
    ASSERT_TRUE(TakeOnGpu(session, desk, fresh.get(), 1, got).ok());
  }

  EXPECT_OK(cuda::SynchronizeDevice());
  for (const auto& [place, row] : got.rows) EXPECT_TRUE(Expected().rows.at(place) == row);
}

TEST_P(DeliveryStreamsTest, ABatchThatWasTakenForOneStreamIsFinishedOnAnother) {
  Session session = Open(Options());
  const Desk desk(session);
  const cuda::DeviceScope scope(session.device());
  const cuda::Stream other = Must(cuda::Stream::Make());
  Session here = Open(SmallRows(TestPhotographs(), kRows));
  for (int step = 0; step < 8; ++step) {
    const Batch expected = here.Next().OrDie();
    Batch batch = session.Next(desk.stream()).OrDie();
    const size_t bytes = batch.FinishedBytes(kAsStored);
    ASSERT_TRUE(batch.FinishInto(kAsStored, desk.into(), other.get()).ok());
    const std::vector<uint8_t> images = desk.Images(bytes, other.get());
    EXPECT_TRUE(std::equal(images.begin(), images.end(), expected.images().begin()));
  }
}

TEST_P(DeliveryStreamsTest, TheHostNeverWaitsForTheStream) {
  Session session = Open(Options());
  const Desk desk(session);
  const cuda::DeviceScope scope(session.device());
  ASSERT_TRUE(session.NextInto(kAsStored, desk.into(), desk.stream()).ok());
  ASSERT_OK(cuda::SynchronizeDevice());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until the next batch is ready
  Spin(0.5, desk.stream());
  const auto begin = steady_clock::now();

  ASSERT_TRUE(session.NextInto(kAsStored, desk.into(), desk.stream()).ok());

  EXPECT_LT(Microseconds(steady_clock::now() - begin), 100'000.0);
  EXPECT_OK(cuda::SynchronizeDevice());
}

TEST_P(DeliveryStreamsTest, AGraphReadsMemoryThatIsFilledOutsideOfIt) {
  Session session = Open(Options());
  const Desk desk(session), copy(session);
  const cuda::DeviceScope scope(session.device());
  const auto stream = static_cast<cudaStream_t>(desk.stream());
  const size_t bytes = desk.into().image_bytes;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t step = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cudaMemcpyAsync(copy.into().images, desk.into().images, bytes, cudaMemcpyDeviceToDevice, stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&step, graph, 0), cudaSuccess);
  Session here = Open(SmallRows(TestPhotographs(), kRows));

  for (int i = 0; i < 8; ++i) {
    const Batch expected = here.Next().OrDie();
    ASSERT_TRUE(session.NextInto(kAsStored, desk.into(), desk.stream()).ok());
    ASSERT_EQ(cudaGraphLaunch(step, stream), cudaSuccess);
    const std::vector<uint8_t> images = copy.Images(bytes, desk.stream());
    EXPECT_TRUE(std::equal(images.begin(), images.end(), expected.images().begin()));
  }
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
}

double Median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A delivery is a launch and a write to the control page. This makes both, and nothing else.
class BareDelivery {
 public:
  double Microseconds(void* stream) {
    const auto begin = steady_clock::now();
    Compute(1, reinterpret_cast<float*>(spare_.data()), stream);
    EXPECT_OK(cuda::WriteWhenReached(stream, reinterpret_cast<uint64_t*>(word_.data()),
                                     reinterpret_cast<uint64_t>(word_.data()), ++value_,
                                     /*stream_memory_ops=*/true));
    return gpu::Microseconds(steady_clock::now() - begin);
  }

 private:
  cuda::PinnedMemory word_ = Must(cuda::PinnedMemory::Make(4096));
  cuda::DeviceMemory spare_ = Must(cuda::DeviceMemory::Make(256));
  uint64_t value_ = 0;
};

// The cost of a CUDA call varies by half between hosts, so the limit is a ratio in the same run.
TEST_P(DeliveryStreamsTest, TakeFinishAndReleaseCostTheHostMicroseconds) {
  constexpr double kMostMicroseconds = 8, kMostOfBare = 1.6;
  constexpr auto kUntilManyAreReady = std::chrono::milliseconds(40);
  SessionOptions options = Options();
  options.epochs = 0;
  options.window = 32;
  options.device_depth = 16;
  Session session = Open(options);
  const Desk desk(session);
  const cuda::DeviceScope scope(session.device());
  BareDelivery bare_delivery;
  std::vector<double> took, bare;
  while (took.size() < 1000) {
    const auto begin = steady_clock::now();
    const Result<Batch> batch =
        session.NextInto(kAsStored, desk.into(), desk.stream(), std::chrono::milliseconds(0));
    const auto end = steady_clock::now();
    if (batch.ok()) {  // it was ready
      took.push_back(Microseconds(end - begin));
      bare.push_back(bare_delivery.Microseconds(desk.stream()));
    } else if (batch.status().code() != Code::kEndOfEpoch) {
      ASSERT_EQ(batch.status().code(), Code::kDeadlineExceeded) << batch.status().ToString();
      std::this_thread::sleep_for(kUntilManyAreReady);
    }
  }
  ASSERT_OK(cuda::SynchronizeDevice());
  const double median = Median(took), of_bare = Median(bare);

  std::printf(
      "%s: take + finish + release of a ready batch: median %.2f us, p99 %.2f us; a launch and a "
      "write: %.2f us (%.2f)\n",
      DeliveryName(GetParam()), median, took[took.size() * 99 / 100], of_bare, median / of_bare);
  if (GetParam() == Delivery::kDevice) {
    EXPECT_LE(median, std::max(kMostMicroseconds, kMostOfBare * of_bare));
  }
}

}  // namespace
}  // namespace penstock::gpu
