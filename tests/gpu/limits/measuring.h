// What the tests of limits measure with: a trainer's kernels, plain copies, and a table's rows.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "common/cuda/registration.h"
#include "common/cuda/stream.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels.h"

namespace penstock::gpu {

inline constexpr double kKernelSeconds = 0.0002;

inline double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

inline void PrintRow(const std::string& what, const std::string& figure, const std::string& ceiling,
                     double ratio, double goal) {
  std::printf("| %s | %s | %s | %.3f | >= %.2f | %s |\n", what.c_str(), figure.c_str(),
              ceiling.c_str(), ratio, goal, ratio >= goal ? "reached" : "MISSED");
}

// Runs kernels with a fixed amount of work in sequence, on the device that was current when it was
// made, which must be current in its calls, too.
class Computing {
 public:
  Computing() {
    for (int i = 0; i < 3; ++i) {  // the first ones load the module and raise the clock rate
      const double seconds = 1 / PerSecond(std::chrono::milliseconds(200));
      rounds_ = static_cast<uint32_t>(rounds_ * kKernelSeconds / seconds);
    }
  }
  double PerSecond(std::chrono::steady_clock::duration window) {
    constexpr int kTogether = 50;
    constexpr size_t kAhead = 4;  // deep enough that the GPU never waits for this thread
    std::deque<cuda::Event> events;
    uint64_t kernels = 0;
    EXPECT_OK(watch_.Start(stream_.get()));
    for (const auto end = std::chrono::steady_clock::now() + window;
         std::chrono::steady_clock::now() < end;) {
      for (int i = 0; i < kTogether; ++i)
        gpu::Compute(rounds_, reinterpret_cast<float*>(spare_.data()), stream_.get());
      kernels += kTogether;
      events.push_back(Must(cuda::Event::Make()));
      EXPECT_OK(events.back().Record(stream_.get()));
      if (events.size() <= kAhead) continue;
      EXPECT_OK(events.front().Wait());
      events.pop_front();
    }
    EXPECT_OK(watch_.Stop(stream_.get()));
    const double seconds = Must(watch_.Seconds());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    return static_cast<double>(kernels) / seconds;
  }

 private:
  uint32_t rounds_ = 1000;
  cuda::DeviceMemory spare_ = Must(cuda::DeviceMemory::Make(256));
  cuda::Stream stream_ = Must(cuda::Stream::Make());
  cuda::Stopwatch watch_ = Must(cuda::Stopwatch::Make());
};

// Runs plain pinned copies in sequence.
class PlainCopies {
 public:
  explicit PlainCopies(uint64_t bytes)
      : from_(Must(cuda::PinnedMemory::Make(bytes))), to_(Must(cuda::DeviceMemory::Make(bytes))) {
    std::fill_n(from_.data(), bytes, std::byte{1});
  }
  double BytesPerSecond() {
    constexpr int kCopies = 100;
    EXPECT_OK(watch_.Start(stream_.get()));
    for (int i = 0; i < kCopies; ++i)
      EXPECT_OK(cuda::CopyToDevice(to_.data(), from_.data(), from_.bytes(), stream_.get()));
    EXPECT_OK(watch_.Stop(stream_.get()));
    return kCopies * static_cast<double>(from_.bytes()) / Must(watch_.Seconds());
  }

 private:
  cuda::PinnedMemory from_;
  cuda::DeviceMemory to_;
  cuda::Stream stream_ = Must(cuda::Stream::Make());
  cuda::Stopwatch watch_ = Must(cuda::Stopwatch::Make());
};

}  // namespace penstock::gpu
