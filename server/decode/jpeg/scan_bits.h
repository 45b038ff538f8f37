// The next bits of a scan, in a register. Nothing is checked here: whoever uses this knows how many
// bytes can be read, and whether more bits were taken than the scan has (ScanBytes).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace penstock::decode {

// Inlined everywhere: a register has no address. What takes a Bits& does likewise.
#define PENSTOCK_INLINE [[gnu::always_inline]] inline

class Bits {
 public:
  Bits(const uint8_t* bytes, uint64_t position) { Seek(bytes + position / 8, position % 8); }

  uint64_t PositionIn(const uint8_t* bytes) const {
    return 8 * static_cast<uint64_t>(next_ - bytes) - count_;
  }

  // The first is the highest; 56 of them are there after Refill.
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
  // Of those that were taken since the constructor.
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
  uint64_t count_;       // of bits in it that are before next_
  const uint8_t* next_;  // what Refill adds
};

}  // namespace penstock::decode
