// Host memory made known to the GPUs: page-locked, so that copies from it run at full speed and in
// the background, and the GPU can write to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status.h"

namespace penstock::cuda {

// Registering holds locks of the driver that a neighbour's launches wait for, so it is done in
// pieces: they end at addresses that are multiples of this. CUDA refuses a copy across two of them,
// so copies to a device are cut there, too (stream.h).
inline constexpr size_t kRegistrationBorder = size_t{1} << 30;

// Bytes from `at` to the next border, at most `bytes`.
inline size_t ToRegistrationBorder(const std::byte* at, size_t bytes) {
  const size_t left = kRegistrationBorder - reinterpret_cast<uintptr_t>(at) % kRegistrationBorder;
  return left < bytes ? left : bytes;
}

// One range, registered in those pieces, all or none. Whoever owns the memory unmaps it
// only after this is gone. Move-only; made with a device current, destroyed on any thread; valid
// for all devices of the process.
class Registration {
 public:
  enum class Access { kReadWrite, kReadOnly };
  // `data` and `bytes`: whole pages. FailedPrecondition: it is registered already, or its kind of
  // mapping cannot be.
  static absl::StatusOr<Registration> Make(std::byte* data, size_t bytes, Access access);
  Registration() = default;
  Registration(Registration&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        device_(other.device_) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~Registration();

  size_t bytes() const { return bytes_; }

  // The current device's address of a byte in it.
  absl::StatusOr<uint64_t> DeviceAddress(const std::byte* at) const;

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;  // was current when it was made
};

// Page-locked memory that CUDA allocates, for what is no segment of anybody's. Move-only; made with
// a device current, destroyed on any thread; valid for all devices of the process.
class PinnedMemory {
 public:
  // ResourceExhausted: no room.
  static absl::StatusOr<PinnedMemory> Make(size_t bytes);
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        device_(other.device_) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~PinnedMemory();
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;
};

}  // namespace penstock::cuda
