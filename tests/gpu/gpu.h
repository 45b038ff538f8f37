// Shared by the GPU tests: helpers for calls that must succeed, for memory that is filled and read
// back, and for other processes.
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

// Returns the value, or ends the program with the reason if there is none.
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.status();
  PENSTOCK_CHECK(result.ok());
  return std::move(result).value();
}

// Makes bytes that depend on their position and on `seed`.
std::vector<std::byte> Pattern(size_t bytes, uint32_t seed);

// Copy between the host and the current device; the copy is complete when they return.
absl::Status Fill(std::byte* device, std::span<const std::byte> bytes);
absl::StatusOr<std::vector<std::byte>> ReadBack(const std::byte* device, size_t bytes);

// Peers look for a pattern of this size at the beginning and the end of a slab.
inline constexpr size_t kPatternBytes = 4096;
void Mark(const cuda::Slab& slab, uint32_t seed);

// Runs penstock-gpu-peer in a separate process until it ends. Returns its exit code, or -1 if it
// was killed or took longer than a minute. The peer gets `descriptor` as number 3.
int RunPeer(std::vector<std::string> arguments, int descriptor = -1);

// The peer's exit codes.
inline constexpr int kPeerFine = 0, kPeerUsage = 2, kPeerCannotOpen = 3, kPeerWrongBytes = 4,
                     kPeerCouldWrite = 5, kPeerNotSticky = 6;

}  // namespace penstock::gpu
