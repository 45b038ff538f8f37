// Measures the bytes per second that the finish kernels read and write, compared with the device's
// own copy in the same run: medians of alternating runs over memory that no cache holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "client/finish/on_device.h"
#include "tests/gpu/gpu.h"

namespace penstock::finish {
namespace {

using gpu::Must;

constexpr Shape kImages = {256, 224, 224, 3};
constexpr Shape kOddImages = {256, 225, 225, 3};  // planes do not begin at a store's boundary
constexpr Shape kFourChannels = {192, 224, 224, 4};
constexpr double kGoal = 0.60;
constexpr int kLaunches = 24, kRounds = 9;

// Runs cycle through enough inputs and outputs that each has left the cache when it is used again.
constexpr uint64_t kArenaBytes = uint64_t{2} << 30;

struct Line {
  const char* name;
  Spec spec;
  Shape shape;
  bool synthetic = false;
  double goal = 0;
  std::vector<double> rates = {};  // bytes per second
  double host_us = 0;              // per call
};

class FinishBandwidthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    from_ = Must(cuda::DeviceMemory::Make(kArenaBytes));
    to_ = Must(cuda::DeviceMemory::Make(kArenaBytes));
    stream_ = Must(cuda::Stream::Make());
    watch_ = Must(cuda::Stopwatch::Make());
  }

  // Fills the memory with random bytes, because memory that was never written may be read faster.
  absl::Status FillInput() {
    const Shape all = {static_cast<uint32_t>(kArenaBytes >> 20), 1024, 1024, 1};
    return SynthesizeOnDevice({.seed = 1}, {.type = Type::kUInt8}, all, {from_.data(), kArenaBytes},
                              {}, stream_.get());
  }

  // Returns the seconds of one launch, by the GPU's clock.
  template <typename Launch>
  double Time(int launches, const Launch& launch) {
    EXPECT_OK(watch_.Start(stream_.get()));
    for (int i = 0; i < launches; ++i) EXPECT_OK(launch(i));
    EXPECT_OK(watch_.Stop(stream_.get()));
    return Must(watch_.Seconds()) / launches;
  }

  double CopyRate() {
    const double seconds = Time(3, [&](int) {
      return cuda::CopyOnDevice(to_.data(), from_.data(), kArenaBytes, stream_.get());
    });
    return 2.0 * kArenaBytes / seconds;
  }

  void Run(Line& line) {
    const uint64_t in = *FinishedBytes(Type::kUInt8, line.shape);
    const uint64_t out = *FinishedBytes(line.spec.type, line.shape);
    const uint64_t in_step = (in + 255) / 256 * 256, out_step = (out + 255) / 256 * 256;
    std::chrono::steady_clock::duration host{};
    const double seconds = Time(kLaunches, [&](int i) {
      std::byte* into = to_.data() + i % (kArenaBytes / out_step) * out_step;
      const std::byte* rows = from_.data() + i % (kArenaBytes / in_step) * in_step;
      const auto began = std::chrono::steady_clock::now();
      absl::Status status =
          line.synthetic
              ? SynthesizeOnDevice({.seed = 2}, line.spec, line.shape, {into, out}, {},
                                   stream_.get())
              : ApplyOnDevice(line.spec, line.shape, {reinterpret_cast<const uint8_t*>(rows), in},
                              {}, {into, out}, {}, stream_.get());
      host += std::chrono::steady_clock::now() - began;
      return status;
    });
    line.rates.push_back(static_cast<double>(line.synthetic ? out : in + out) / seconds);
    line.host_us = std::chrono::duration<double, std::micro>(host).count() / kLaunches;
  }

  cuda::DeviceMemory from_, to_;
  cuda::Stream stream_;
  cuda::Stopwatch watch_;
};

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<Line> Lines() {
  static const float mean[4] = {0.485f, 0.456f, 0.406f, 0.5f};
  static const float stddev[4] = {0.229f, 0.224f, 0.225f, 0.25f};
  const auto spec = [](Type type, Layout layout, uint32_t channels = 3) {
    return Spec{type, layout, {mean, channels}, {stddev, channels}};
  };
  using enum Type;
  using enum Layout;
  return {
      {"uint8 NHWC", spec(kUInt8, kNHWC), kImages, false, kGoal},
      {"uint8 NCHW", spec(kUInt8, kNCHW), kImages, false, kGoal},
      {"float16 NHWC", spec(kFloat16, kNHWC), kImages, false, kGoal},
      {"float16 NCHW", spec(kFloat16, kNCHW), kImages, false, kGoal},
      {"bfloat16 NHWC", spec(kBFloat16, kNHWC), kImages, false, kGoal},
      {"bfloat16 NCHW", spec(kBFloat16, kNCHW), kImages, false, kGoal},
      {"float32 NHWC", spec(kFloat32, kNHWC), kImages, false, kGoal},
      {"float32 NCHW", spec(kFloat32, kNCHW), kImages, false, kGoal},
      {"uint8 NCHW, 225 wide", spec(kUInt8, kNCHW), kOddImages},
      {"float16 NCHW, 225 wide", spec(kFloat16, kNCHW), kOddImages},
      {"float32 NCHW, 225 wide", spec(kFloat32, kNCHW), kOddImages},
      {"float16 NCHW, 4 channels", spec(kFloat16, kNCHW, 4), kFourChannels},
      {"synthetic uint8 NHWC (out)", spec(kUInt8, kNHWC), kImages, true},
      {"synthetic float16 NCHW (out)", spec(kFloat16, kNCHW), kImages, true},
      {"synthetic float32 NCHW (out)", spec(kFloat32, kNCHW), kImages, true},
  };
}

TEST_F(FinishBandwidthTest, ReachesItsGoalOfTheDevicesCopy) {
  ASSERT_OK(FillInput());
  std::vector<Line> lines = Lines();
  std::vector<double> copies;
  for (Line& line : lines) Run(line);  // warm-up: modules are loaded at their first launch
  for (Line& line : lines) line.rates.clear();
  for (int round = 0; round < kRounds; ++round) {
    copies.push_back(CopyRate());
    for (Line& line : lines) Run(line);
  }

  const double copy = Median(copies);
  std::printf("%-30s %8s %8s %10s  %s\n", "finish, 256 images of 224 x 224", "TB/s", "of copy",
              "host us", "goal");
  std::printf("%-30s %8.3f %8.3f\n", "copy on the device", copy / 1e12, 1.0);
  for (const Line& line : lines) {
    const double ratio = Median(line.rates) / copy;
    std::printf("%-30s %8.3f %8.3f %10.2f  %s\n", line.name, Median(line.rates) / 1e12, ratio,
                line.host_us,
                line.goal == 0       ? ""
                : ratio >= line.goal ? "0.60 reached"
                                     : "0.60 MISSED");
    EXPECT_GE(ratio, line.goal) << line.name;
  }
}

}  // namespace
}  // namespace penstock::finish
