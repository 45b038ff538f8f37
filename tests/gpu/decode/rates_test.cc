// Images per second that are decoded and made into rows, flat out, as a table by makers and chunks;
// CPU time and device memory with them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "common/cuda/memory_info.h"
#include "tests/gpu/decode/decoding.h"

namespace penstock::gpu_decode {
namespace {

using gpu::Must;
using testing::Photograph;

constexpr uint32_t kSide = 224;
constexpr size_t kRowsOfBatch = 256;
constexpr size_t kRowBytes = size_t{3} * kSide * kSide;
constexpr int kWarmUp = 2, kBatches = 12;

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double SecondsSince(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

struct RateCase {
  JpegChroma chroma = JpegChroma::kReplicated;
  uint32_t chunk = 0;
  size_t makers = 0;
  bool share = false;  // the makers share one nvJPEG, as a session's do
};

// A thread's maker, with what it makes.
struct RateMaker {
  // With the nvJPEG of `other`, unless that is null.
  RateMaker(const RateCase& what, const RowMaker* other) {
    RowMakerOptions options = TestOptions(stream.get());
    options.max_chunk = what.chunk;
    options.chroma = what.chroma;
    maker = std::make_unique<RowMaker>(
        Must(other == nullptr ? RowMaker::Make(options) : other->MakeAnother(stream.get())));
  }

  void Run(std::span<const RowInput> inputs, int batches) {
    const cuda::DeviceScope device(0);
    for (int i = 0; i < batches; ++i) {
      const std::vector<RowOutcome> outcomes =
          Must(maker->MakeRows({inputs, kSide, kSide, reinterpret_cast<uint8_t*>(rows.data())}));
      for (const RowOutcome& outcome : outcomes) {
        EXPECT_EQ(outcome.result, RowResult::kOk) << outcome.why;
      }
    }
  }

  cuda::Stream stream = Must(cuda::Stream::Make(cuda::StreamPriority::kLow));
  cuda::DeviceMemory rows = Must(cuda::DeviceMemory::Make(kRowsOfBatch * kRowBytes));
  std::unique_ptr<RowMaker> maker;
};

class RatesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = NoEngines(); !why.empty()) GTEST_SKIP() << why;
    photographs_ = testing::LoadPhotographs(kRowsOfBatch);
    ASSERT_FALSE(photographs_.empty());
    std::mt19937 random(1);
    for (size_t i = 0; i < kRowsOfBatch; ++i) {
      const Photograph& photograph = photographs_[i % photographs_.size()];
      inputs_.push_back({.jpeg = RandomBox(photograph, random)});
    }
  }

  // A box of a fifth to all of the area.
  static JpegRow RandomBox(const Photograph& photograph, std::mt19937& random) {
    JpegRow row = Thumbnail(photograph, kSide);
    const double side = 0.45 + 0.55 * (random() % 1000) / 1000;
    row.x.in = std::max(1u, static_cast<uint32_t>(row.width * side));
    row.y.in = std::max(1u, static_cast<uint32_t>(row.height * side));
    row.left = random() % (row.width - row.x.in + 1);
    row.top = random() % (row.height - row.y.in + 1);
    row.flip = random() % 2 == 0;
    return row;
  }

  void RunAll(std::vector<std::unique_ptr<RateMaker>>& makers, int batches) {
    std::vector<std::thread> threads;
    for (const auto& maker : makers) {
      threads.emplace_back([&, batches] { maker->Run(inputs_, batches); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  double Measure(const RateCase& what) {
    const size_t count = what.makers;
    const uint64_t free_before = Must(cuda::QueryMemory()).free_bytes;
    std::vector<std::unique_ptr<RateMaker>> makers;
    for (size_t i = 0; i < count; ++i) {
      const bool shares = what.share && i > 0;
      makers.push_back(
          std::make_unique<RateMaker>(what, shares ? makers[0]->maker.get() : nullptr));
    }
    RunAll(makers, kWarmUp);
    const auto began = std::chrono::steady_clock::now();
    const double cpu_began = CpuSeconds();
    RunAll(makers, kBatches);
    const double seconds = SecondsSince(began);
    const double images = static_cast<double>(count * kBatches * kRowsOfBatch);
    const uint64_t rows_bytes = count * kRowsOfBatch * kRowBytes;
    const uint64_t taken =
        free_before - Must(cuda::QueryMemory()).free_bytes - std::min(rows_bytes, free_before);
    uint64_t counted = 0;
    for (const auto& maker : makers) counted += maker->maker->bytes_in_use();
    std::printf("| %s | %zu | %s | %u | %.0f | %.3f | %.0f | %.0f |\n",
                what.chroma == JpegChroma::kReplicated ? "replicated" : "interpolated", count,
                what.share ? "one" : "each", what.chunk, images / seconds,
                (CpuSeconds() - cpu_began) / images * 1e3, static_cast<double>(counted) / (1 << 20),
                static_cast<double>(taken) / (1 << 20));
    return images / seconds;
  }

  std::vector<Photograph> photographs_;
  std::vector<RowInput> inputs_;
};

TEST_F(RatesTest, FlatOut) {
  std::printf(
      "| chroma | makers | nvJPEG | chunk | images/s | CPU ms/image | MiB counted | MiB missing on "
      "the device |\n|---|---|---|---|---|---|---|---|\n");
  for (const JpegChroma chroma : {JpegChroma::kReplicated, JpegChroma::kInterpolated}) {
    for (const uint32_t chunk : {32u, 64u, 128u}) {
      for (const size_t makers : {1, 2, 3}) EXPECT_GT(Measure({chroma, chunk, makers}), 0);
      EXPECT_GT(Measure({chroma, chunk, 2, /*share=*/true}), 0);
    }
  }
}

}  // namespace
}  // namespace penstock::gpu_decode
