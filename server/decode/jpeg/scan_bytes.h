// The entropy-coded bytes of a JPEG scan, without the byte stuffed after each 0xFF, a few thousand
// at a time. Restart markers divide them into segments; zeros follow the last byte of a segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::decode {

class ScanBytes {
 public:
  // The most bytes that a block takes: 64 words with values, of 16 + 15 bits. The most for an MCU.
  static constexpr size_t kMostOfABlock = 64 * (16 + 15) / 8;
  static constexpr size_t kMostAhead = 10 * kMostOfABlock;

  // Starts at the first segment. At most `ahead` bytes (up to kMostAhead) may be taken after each
  // Prepare. **Requires**: `scan` outlives this object's use of it.
  void Begin(std::span<const uint8_t> scan, size_t ahead = kMostAhead);

  // Call it before reading, and again before more than `ahead` bytes have been read.
  void Prepare() {
    if (!segment_ends_ && position_ / 8 + ahead_ > filled_) Refill(kChunk);
  }

  const uint8_t* bytes() const { return bytes_; }
  uint64_t position() const { return position_; }  // of the next bit, within bytes(), in bits
  void set_position(uint64_t position) { position_ = position; }

  // Whether more bits were taken than the segment has.
  bool overrun() const { return position_ > 8 * filled_; }

  // The position of the next bit in the scan given to Begin, in bits, counting stuffed bytes.
  uint64_t PositionInScan();
  // Goes there. Any position is safe; only what PositionInScan returned makes sense.
  void Seek(uint64_t position);

  // Moves past the restart marker with this number (0 … 7), which must come next.
  bool Restart(int number);

  // Whether nothing is left but the bits that fill up the scan's last byte.
  bool IsAtEnd();

 private:
  static constexpr size_t kChunk = 8192;
  static constexpr size_t kFirstChunk = 2048;  // after Seek; few bytes may be needed
  static constexpr size_t kReadAhead = 16;     // how far Bits reads beyond what it has taken

  void BeginSegment(std::span<const uint8_t> rest, size_t chunk);
  bool SegmentIsTaken();
  void Refill(size_t chunk);
  void CountTo(size_t byte);

  std::span<const uint8_t> scan_;
  std::span<const uint8_t> rest_;  // the scan's remaining bytes
  size_t ahead_ = kMostAhead;
  bool segment_ends_ = false;  // bytes_ ends with the segment
  size_t filled_ = 0;
  size_t counted_ = 0;   // a byte in bytes_, at most the next one …
  uint64_t offset_ = 0;  // … and where it is in the scan
  uint64_t position_ = 0;
  uint8_t bytes_[kChunk + kMostAhead + kReadAhead];
};

}  // namespace penstock::decode
