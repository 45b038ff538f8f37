#include "server/decode/jpeg/scan_bytes.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::decode {
namespace {

constexpr uint8_t kMarkerByte = 0xFF;
constexpr uint8_t kFirstRestart = 0xD0;

#ifdef __SSE2__
// The bytes of a vector that are 0xFF, a bit each.
struct Piece {
  static constexpr size_t kBytes = 16;
  explicit Piece(const uint8_t* from)
      : bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))) {}
  void CopyTo(uint8_t* to) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes); }
  uint32_t Markers() const {
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1))));
  }
  static size_t First(uint32_t markers) { return static_cast<size_t>(std::countr_zero(markers)); }
  __m128i bytes;
};
#else
// The same without vectors. The lowest bit is exact.
struct Piece {
  static constexpr size_t kBytes = 8;
  explicit Piece(const uint8_t* from) { std::memcpy(&bytes, from, sizeof(bytes)); }
  void CopyTo(uint8_t* to) const { std::memcpy(to, &bytes, sizeof(bytes)); }
  uint64_t Markers() const {
    constexpr uint64_t kOnes = 0x0101010101010101;
    const uint64_t first_lowest =
        std::endian::native == std::endian::little ? ~bytes : ~__builtin_bswap64(bytes);
    return (first_lowest - kOnes) & ~first_lowest & (kOnes << 7);
  }
  static size_t First(uint64_t markers) {
    return static_cast<size_t>(std::countr_zero(markers)) / 8;
  }
  uint64_t bytes;
};
#endif

// Copies `from` up to the first 0xFF, but at most `headroom` bytes; returns the number of bytes.
// Runs are short (300 bytes in ImageNet's photographs), so this beats memchr and memcpy. It may
// write up to a piece more than it returns, within `headroom`.
size_t CopyToMarkerByte(std::span<const uint8_t> from, size_t headroom, uint8_t* to) {
  const size_t size = std::min(from.size(), headroom);
  size_t copied = 0;
  for (; copied + Piece::kBytes <= size; copied += Piece::kBytes) {
    const Piece piece(from.data() + copied);
    piece.CopyTo(to + copied);
    if (const auto markers = piece.Markers(); markers != 0) return copied + Piece::First(markers);
  }
  for (; copied < size && from[copied] != kMarkerByte; ++copied) to[copied] = from[copied];
  return copied;
}

// Counts in steps so small that a byte holds the count, which compilers turn into vector code.
size_t CountMarkerBytes(std::span<const uint8_t> bytes) {
  constexpr size_t kStep = 128;
  size_t count = 0;
  for (; bytes.size() >= kStep; bytes = bytes.subspan(kStep)) {
    uint8_t in_step = 0;
    for (size_t i = 0; i < kStep; ++i) in_step += bytes[i] == kMarkerByte;
    count += in_step;
  }
  for (const uint8_t byte : bytes) count += byte == kMarkerByte;
  return count;
}

}  // namespace

void ScanBytes::Begin(std::span<const uint8_t> scan, size_t ahead) {
  scan_ = scan;
  ahead_ = ahead;
  BeginSegment(scan, kChunk);
}

void ScanBytes::BeginSegment(std::span<const uint8_t> rest, size_t chunk) {
  rest_ = rest;
  segment_ends_ = rest.empty();
  filled_ = counted_ = 0;
  offset_ = scan_.size() - rest.size();
  position_ = 0;
  Refill(chunk);
}

// Keeps the bytes not yet taken and appends others, up to `chunk` in all.
void ScanBytes::Refill(size_t chunk) {
  const size_t taken = position_ / 8;
  CountTo(taken);
  counted_ = 0;
  filled_ -= taken;
  std::memmove(bytes_, bytes_ + taken, filled_);
  position_ %= 8;
  while (filled_ < chunk && !segment_ends_) {
    const size_t plain = CopyToMarkerByte(rest_, chunk - filled_, bytes_ + filled_);
    filled_ += plain;
    rest_ = rest_.subspan(plain);
    if (filled_ == chunk) break;
    const bool stuffed = rest_.size() >= 2 && rest_[0] == kMarkerByte && rest_[1] == 0;
    if (stuffed) {
      bytes_[filled_++] = kMarkerByte;
      rest_ = rest_.subspan(2);
    }
    segment_ends_ = !stuffed || rest_.empty();
  }
  if (segment_ends_) std::memset(bytes_ + filled_, 0, ahead_ + kReadAhead);
}

// Each 0xFF in bytes_ was followed by a stuffed byte.
void ScanBytes::CountTo(size_t byte) {
  const std::span<const uint8_t> more = std::span(bytes_).subspan(counted_, byte - counted_);
  offset_ += more.size() + CountMarkerBytes(more);
  counted_ = byte;
}

uint64_t ScanBytes::PositionInScan() {
  CountTo(position_ / 8);
  return 8 * offset_ + position_ % 8;
}

void ScanBytes::Seek(uint64_t position) {
  BeginSegment(scan_.subspan(std::min<uint64_t>(position / 8, scan_.size())), ahead_ + kFirstChunk);
  position_ = position % 8;
}

bool ScanBytes::SegmentIsTaken() {
  if (!segment_ends_) Refill(kChunk);  // the marker may come next
  return segment_ends_ && (position_ + 7) / 8 == filled_;
}

bool ScanBytes::IsAtEnd() { return SegmentIsTaken() && rest_.empty(); }

bool ScanBytes::Restart(int number) {
  const bool taken = SegmentIsTaken();
  const bool in_turn =
      rest_.size() >= 2 && rest_[0] == kMarkerByte && rest_[1] == kFirstRestart + number;
  if (!taken || !in_turn) return false;
  BeginSegment(rest_.subspan(2), kChunk);
  return true;
}

}  // namespace penstock::decode
