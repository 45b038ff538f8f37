// Host memory registered with the GPUs: page-locked, so that copies from it are asynchronous and
// run at full speed, and so that GPUs can write to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status.h"

namespace penstock::cuda {

// Registering memory holds driver locks that other kernel launches wait for, so we
// register in pieces that end at multiples of this address. CUDA refuses a copy that spans two
// pieces, so copies to a device are split there, too (stream.h).
inline constexpr size_t kRegistrationBorder = size_t{1} << 30;

// Bytes from `at` to the next border; at most `bytes`.
inline size_t ToRegistrationBorder(const std::byte* at, size_t bytes) {
  const size_t left = kRegistrationBorder - reinterpret_cast<uintptr_t>(at) % kRegistrationBorder;
  return left < bytes ? left : bytes;
}

// One range, registered in those pieces; all or none. Move-only; valid for all devices of the
// process.
//
// **Requires**: made with a device current. The memory's owner keeps it mapped until this is
// destroyed.
// **Thread safety**: may be destroyed on any thread.
class Registration {
 public:
  enum class HostAccess { kReadWrite, kReadOnly };
  // `data` and `bytes` are whole pages. **Errors**: FailedPrecondition if the range is registered
  // already or this kind of mapping cannot be registered.
  static absl::StatusOr<Registration> Make(std::byte* data, size_t bytes, HostAccess access);
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

  // The address on the current device of a byte in the range.
  absl::StatusOr<uint64_t> DeviceAddress(const std::byte* at) const;

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;  // current when it was made
};

// Page-locked memory that CUDA allocates, for buffers outside any segment. Move-only; valid for all
// devices of the process.
//
// **Requires**: made with a device current.
// **Thread safety**: may be destroyed on any thread.
class PinnedMemory {
 public:
  // **Errors**: ResourceExhausted if there is no free memory.
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
