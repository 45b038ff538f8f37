// Host memory made known to the GPUs: page-locked, so that copies from it run at full speed and in
// the background, and the GPU can write to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status.h"

namespace penstock::cuda {

// One range, registered in chunks of at most 1 GiB, all or none. Whoever owns the memory unmaps it
// only after this is gone. Move-only; made and destroyed with a device current; valid for all
// devices of the process.
class Registration {
 public:
  enum class Access { kReadWrite, kReadOnly };
  // `data` and `bytes`: whole pages. FailedPrecondition: it is registered already, or its kind of
  // mapping cannot be.
  static absl::StatusOr<Registration> Make(std::byte* data, size_t bytes, Access access);
  Registration() = default;
  Registration(Registration&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Registration();

  // The current device's address of a byte in it.
  absl::StatusOr<uint64_t> DeviceAddress(const std::byte* at) const;

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace penstock::cuda
