// The entropy-coded bytes of a JPEG scan, without those that were stuffed behind each 0xFF, a few
// thousand at a time. Restart markers cut them into segments; behind a segment's last byte stand
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::decode {

class ScanBytes {
 public:
  // How many bytes can be taken after Prepare: the most that ten blocks of 64 words with their
  // values, 16 + 15 bits each, may have.
  static constexpr size_t kAhead = 10 * 64 * (16 + 15) / 8;

  // Begins with the first segment. `scan` outlives this object's use of it.
  void Begin(std::span<const uint8_t> scan);

  // To be called before anything is read, and again before more than kAhead bytes are.
  void Prepare() {
    if (!segment_ends_ && position_ / 8 + kAhead > filled_) Refill();
  }

  const uint8_t* bytes() const { return bytes_; }
  uint64_t position() const { return position_; }  // of what comes next, in bytes(), in bits
  void set_position(uint64_t position) { position_ = position; }

  // More was taken than the segment has.
  bool overrun() const { return position_ > 8 * filled_; }

  // Past the restart marker of this number (0 … 7), which must come next.
  bool Restart(int number);

 private:
  static constexpr size_t kChunk = 8192;
  static constexpr size_t kReadAhead = 16;  // by Bits, of what is not taken

  void Refill();

  std::span<const uint8_t> rest_;  // of the scan
  bool segment_ends_ = false;      // with the last of bytes_
  size_t filled_ = 0;
  uint64_t position_ = 0;
  uint8_t bytes_[kChunk + kAhead + kReadAhead];
};

}  // namespace penstock::decode
