// Memory on both sides of a border at which memory is registered with CUDA in pieces.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "common/cuda/registration.h"

namespace penstock::testing {

class AcrossBorder {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;  // half of them on each side

  AcrossBorder() {
    void* const mapped =
        ::mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    reserved_ = static_cast<std::byte*>(mapped);
    data_ = reserved_ + kBytes;
    data_ += cuda::ToRegistrationBorder(data_, kReserved) - kBytes / 2;
    EXPECT_EQ(::mprotect(data_, kBytes, PROT_READ | PROT_WRITE), 0);
  }
  AcrossBorder(const AcrossBorder&) = delete;
  AcrossBorder& operator=(const AcrossBorder&) = delete;
  ~AcrossBorder() { ::munmap(reserved_, kReserved); }

  // All of it: whole pages.
  std::byte* data() const { return data_; }
  // Puts a copy there, half of it on each side.
  std::span<const std::byte> Put(std::span<const std::byte> bytes) {
    std::byte* const at = data_ + (kBytes - bytes.size()) / 2;
    std::memcpy(at, bytes.data(), bytes.size());
    return {at, bytes.size()};
  }

 private:
  static constexpr size_t kReserved = 2 * cuda::kRegistrationBorder;
  std::byte* reserved_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace penstock::testing
