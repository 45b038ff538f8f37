// Holds the next bits of a scan in a register. **Requires**: the caller ensures that the bytes can
// be read, and checks whether more bits were taken than the scan has (ScanBytes).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace penstock::decode {

// Forces inlining, because a register has no address. Functions that take a Bits& do the same.
#define PENSTOCK_INLINE [[gnu::always_inline]] inline

class Bits {
 public:
  Bits(const uint8_t* bytes, uint64_t position) { Seek(bytes + position / 8, position % 8); }

  uint64_t PositionIn(const uint8_t* bytes) const {
    return 8 * static_cast<uint64_t>(next_ - bytes) - count_;
  }

  // The first bit is the highest. At least 56 bits are valid after Refill.
  uint64_t window() const { return window_; }
  void Refill() {
    window_ |= Load(next_) >> count_;
    next_ += (63 - count_) / 8;
    count_ |= 56;
  }
  void Take(uint32_t bits) {
    window_ <<= bits;
    count_ -= bits;
  }
  // Undoes taking `bits` bits. **Requires**: they were taken since construction.
  void GiveBack(uint32_t bits) {
    const uint64_t behind = count_ + bits;
    const uint64_t bytes = (behind + 7) / 8;
    Seek(next_ - bytes, 8 * bytes - behind);
  }

 private:
  static uint64_t Load(const uint8_t* bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
  }

  // `skipped`: 0 … 7.
  void Seek(const uint8_t* byte, uint64_t skipped) {
    window_ = Load(byte) << skipped;
    next_ = byte + 7;
    count_ = 56 - skipped;
  }

  uint64_t window_;
  uint64_t count_;       // number of bits in the window, before next_
  const uint8_t* next_;  // the next bytes that Refill adds
};

}  // namespace penstock::decode
