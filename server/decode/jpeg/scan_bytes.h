// The entropy-coded bytes of a JPEG scan, without the byte stuffed after each 0xFF, a few thousand
// at a time. Restart markers divide them into segments; zeros follow the last byte of a segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::decode {

class ScanBytes {
 public:
  // How many bytes may be taken after each Prepare: the maximum for ten blocks of 64 words with
  // values, 16 + 15 bits each.
  static constexpr size_t kAhead = 10 * 64 * (16 + 15) / 8;

  // Starts at the first segment. **Requires**: `scan` outlives this object's use of it.
  void Begin(std::span<const uint8_t> scan);

  // Call it before reading, and again before more than kAhead bytes have been read.
  void Prepare() {
    if (!segment_ends_ && position_ / 8 + kAhead > filled_) Refill();
  }

  const uint8_t* bytes() const { return bytes_; }
  uint64_t position() const { return position_; }  // of the next bit, within bytes(), in bits
  void set_position(uint64_t position) { position_ = position; }

  // Whether more bits were taken than the segment has.
  bool overrun() const { return position_ > 8 * filled_; }

  // Moves past the restart marker with this number (0 … 7), which must come next.
  bool Restart(int number);

 private:
  static constexpr size_t kChunk = 8192;
  static constexpr size_t kReadAhead = 16;  // how far Bits reads beyond what it has taken

  void Refill();

  std::span<const uint8_t> rest_;  // the scan's remaining bytes
  bool segment_ends_ = false;      // bytes_ ends with the segment
  size_t filled_ = 0;
  uint64_t position_ = 0;
  uint8_t bytes_[kChunk + kAhead + kReadAhead];
};

}  // namespace penstock::decode
