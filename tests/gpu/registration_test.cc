#include "common/cuda/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/posix/memory.h"
#include "tests/gpu/gpu.h"

namespace penstock::cuda {
namespace {

using gpu::Must;
using Access = Registration::HostAccess;

constexpr size_t kBytes = 4 << 20;

// A memfd mapped both writable and read-only.
struct Segment {
  explicit Segment(size_t bytes = kBytes) : memory(Must(posix::MakeMemory("segment", bytes))) {
    writable = Must(posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite));
    const posix::Fd view = Must(posix::ReadOnlyView(memory));
    readable = Must(posix::Mapping::Map(view, bytes, posix::Access::kReadOnly));
  }
  posix::Fd memory;
  posix::Mapping writable, readable;
};

class RegistrationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(SynchronizeDevice()); }  // creates a context
};

TEST_F(RegistrationTest, PartsOfPagesAreRefused) {
  Segment segment;

  EXPECT_EQ(
      Registration::Make(segment.writable.data() + 64, 4096, Access::kReadWrite).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Registration::Make(segment.writable.data(), 100, Access::kReadWrite).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RegistrationTest, AReadOnlyMappingIsRefusedForWriting) {
  Segment segment;

  EXPECT_EQ(Registration::Make(segment.readable.data(), kBytes, Access::kReadWrite).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RegistrationTest, WhatIsRegisteredAlreadyIsRefused) {
  Segment segment;
  const auto first = Must(Registration::Make(segment.writable.data(), kBytes, Access::kReadWrite));

  const absl::Status second =
      Registration::Make(segment.writable.data(), kBytes, Access::kReadWrite).status();

  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), ::testing::HasSubstr("already registered"));
}

TEST_F(RegistrationTest, AnAddressBesideItHasNoDeviceAddress) {
  Segment segment;
  const auto made = Must(Registration::Make(segment.writable.data(), kBytes, Access::kReadWrite));

  EXPECT_FALSE(made.DeviceAddress(segment.writable.data() + kBytes).ok());
  EXPECT_FALSE(made.DeviceAddress(segment.writable.data() - 1).ok());
}

TEST_F(RegistrationTest, AReadOnlyMappingIsCopiedFromReadOnly) {
  Segment segment;
  const auto pattern = gpu::Pattern(kBytes, 3);
  std::memcpy(segment.writable.data(), pattern.data(), kBytes);
  const auto made = Must(Registration::Make(segment.readable.data(), kBytes, Access::kReadOnly));
  const auto device = Must(DeviceMemory::Make(kBytes));
  const auto stream = Must(Stream::Make());

  ASSERT_OK(CopyToDevice(device.data(), segment.readable.data(), kBytes, stream.get()));

  EXPECT_EQ(Must(gpu::ReadBack(device.data(), kBytes)), pattern);
}

TEST_F(RegistrationTest, OnceItIsGoneTheSameMemoryIsRegisteredAgain) {
  Segment segment;
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(Registration::Make(segment.writable.data(), kBytes, Access::kReadWrite).status());
  }
}

// A batch may cross the border of two pieces, wherever the memory is mapped.
TEST_F(RegistrationTest, ACopyAcrossTwoPiecesIsRight) {
  constexpr size_t kSegment = kRegistrationBorder + 2 * kBytes;
  Segment segment(kSegment);
  const auto pattern = gpu::Pattern(kBytes, 4);
  std::byte* start = segment.writable.data() + kBytes;
  std::byte* across = start + ToRegistrationBorder(start, kSegment) - kBytes / 2;
  std::memcpy(across, pattern.data(), kBytes);
  const auto made = Must(Registration::Make(segment.writable.data(), kSegment, Access::kReadWrite));
  const auto device = Must(DeviceMemory::Make(kBytes));
  const auto stream = Must(Stream::Make());

  ASSERT_OK(CopyToDevice(device.data(), across, kBytes, stream.get()));

  EXPECT_EQ(Must(gpu::ReadBack(device.data(), kBytes)), pattern);
  EXPECT_EQ(Must(made.DeviceAddress(across + kBytes / 2)) - Must(made.DeviceAddress(across)),
            kBytes / 2);
}

TEST_F(RegistrationTest, PinnedMemoryIsCopiedFrom) {
  const auto pinned = Must(PinnedMemory::Make(kBytes));
  const auto pattern = gpu::Pattern(kBytes, 5);
  std::memcpy(pinned.data(), pattern.data(), kBytes);
  const auto device = Must(DeviceMemory::Make(kBytes));

  ASSERT_OK(CopyToDevice(device.data(), pinned.data(), kBytes, nullptr));

  EXPECT_EQ(Must(gpu::ReadBack(device.data(), kBytes)), pattern);
}

}  // namespace
}  // namespace penstock::cuda
