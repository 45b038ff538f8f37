// What tests on a GPU share: shorter ways to say that something must work, memory that is filled
// and read back, and other processes.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/cuda/device.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"
#include "common/posix/process.h"

#define ASSERT_OK(expression) ASSERT_TRUE(::penstock::gpu::IsOk(expression))
#define EXPECT_OK(expression) EXPECT_TRUE(::penstock::gpu::IsOk(expression))

namespace penstock::gpu {

inline ::testing::AssertionResult IsOk(const absl::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status;
}

// For what a test cannot go on without: ends the program with the reason.
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.status();
  PENSTOCK_CHECK(result.ok());
  return std::move(result).value();
}

// Bytes that depend on their place and on `seed`.
std::vector<std::byte> Pattern(size_t bytes, uint32_t seed);

// Between the host and the current device, done when it returns.
absl::Status Fill(std::byte* device, std::span<const std::byte> bytes);
absl::StatusOr<std::vector<std::byte>> ReadBack(const std::byte* device, size_t bytes);

// Where peers look for a pattern: at a slab's beginning and at its end.
inline constexpr size_t kPatternBytes = 4096;
void Mark(const cuda::Slab& slab, uint32_t seed);

// Runs penstock-gpu-peer, a process of its own, to its end: its exit code, or -1 if that took
// longer than a minute or it was killed. A descriptor that is given is its number 3.
int RunPeer(std::vector<std::string> arguments, int descriptor = -1);

// What the peer's exit codes mean.
inline constexpr int kPeerFine = 0, kPeerUsage = 2, kPeerCannotOpen = 3, kPeerWrongBytes = 4,
                     kPeerCouldWrite = 5, kPeerNotSticky = 6;

}  // namespace penstock::gpu
