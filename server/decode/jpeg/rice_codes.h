// Numbers in Rice codes: the upper bits in unary, the `low` lower bits as they are. Short for
// numbers about as large as 2^low. For much larger ones the number itself follows an escape. Pure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace penstock::decode {

inline constexpr uint32_t kEscape = 20;  // in unary
inline constexpr uint32_t kMostLow = 24;

// The best `low` for numbers with this mean.
inline uint32_t LowBitsFor(uint64_t mean) {
  return std::min<uint32_t>(kMostLow, static_cast<uint32_t>(std::bit_width(mean * 2 / 3)));
}

class RiceWriter {
 public:
  explicit RiceWriter(std::span<std::byte> into) : into_(into) {}

  // How many bits Put writes for a number.
  static uint32_t BitsOf(uint32_t number, uint32_t low) {
    const uint32_t unary = number >> low;
    return unary >= kEscape ? kEscape + 1 + 32 : unary + 1 + low;
  }
  // **Requires**: there is room for it.
  void Put(uint32_t number, uint32_t low) {
    const uint32_t unary = number >> low;
    if (unary >= kEscape) {
      PutBits(1, kEscape + 1);
      PutBits(number, 32);
    } else {
      PutBits(1, unary + 1);
      PutBits(number & ((uint32_t{1} << low) - 1), low);
    }
  }
  // Returns the number of bytes.
  size_t End() {
    if (held_ > 0) PutBits(0, 8 - held_);
    return bytes_;
  }

 private:
  void PutBits(uint32_t bits, uint32_t count) {
    buffer_ = buffer_ << count | bits;
    for (held_ += count; held_ >= 8; ++bytes_) {
      held_ -= 8;
      into_[bytes_] = static_cast<std::byte>(buffer_ >> held_);
    }
  }

  std::span<std::byte> into_;
  size_t bytes_ = 0;
  uint64_t buffer_ = 0;  // its lowest held_ bits are still to be written
  uint32_t held_ = 0;
};

class RiceReader {
 public:
  explicit RiceReader(std::span<const std::byte> from) : from_(from) {}

  // 0, and not ok, if the code ends too late. **Requires**: low is at most kMostLow.
  uint32_t Take(uint32_t low) {
    const uint64_t window = Window();
    const auto unary = static_cast<uint32_t>(std::countl_zero(window));
    ok_ = ok_ && unary <= kEscape;
    if (!ok_) return 0;
    const uint32_t rest = unary == kEscape ? 32 : low;
    bits_ += unary + 1 + rest;
    ok_ = bits_ <= 8 * from_.size();
    const auto lower = static_cast<uint32_t>(window << (unary + 1) >> 1 >> (63 - rest));
    return unary == kEscape ? lower : unary << low | lower;
  }
  bool ok() const { return ok_; }

 private:
  // The next 57 bits or more; zeros follow the last byte.
  uint64_t Window() const {
    const size_t first = std::min(bits_ / 8, from_.size());
    std::byte bytes[8] = {};
    std::memcpy(bytes, from_.data() + first, std::min(sizeof bytes, from_.size() - first));
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word) << bits_ % 8;
  }

  std::span<const std::byte> from_;
  size_t bits_ = 0;
  bool ok_ = true;
};

}  // namespace penstock::decode
