#include "server/source/files/python_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace penstock::source {
namespace {

constexpr uint32_t kSurrogateEscape = 0xDC00;

uint32_t ByteAt(absl::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// The length of a sequence with this first byte; 0 if no sequence begins with it.
size_t SequenceLength(uint32_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

struct Decoded {
  uint32_t point = 0;
  size_t length = 1;
};

// The code point at `at`, or, if the byte there is invalid, its escape.
Decoded DecodeAt(absl::string_view text, size_t at) {
  const uint32_t first = ByteAt(text, at);
  const Decoded escaped{kSurrogateEscape + first, 1};
  const size_t length = SequenceLength(first);
  if (length == 1) return {first, 1};
  if (length == 0 || text.size() - at < length) return escaped;
  uint32_t point = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const uint32_t next = ByteAt(text, at + i);
    if ((next & 0xC0) != 0x80) return escaped;
    point = point << 6 | (next & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  if (point < kSmallest[length] || point > 0x10FFFF || surrogate) return escaped;
  return {point, length};
}

bool LessByCodePoints(absl::string_view a, absl::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const Decoded left = DecodeAt(a, i), right = DecodeAt(b, j);
    if (left.point != right.point) return left.point < right.point;
    i += left.length;
    j += right.length;
  }
  return i == a.size() && j < b.size();
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char byte) { return byte < 0x80; });
}

}  // namespace

bool PythonLess(absl::string_view a, absl::string_view b) {
  if (IsAscii(a) && IsAscii(b)) return a < b;
  return LessByCodePoints(a, b);
}

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Decoded decoded = DecodeAt(text, i);
    if (decoded.point >= kSurrogateEscape + 0x80 && decoded.point <= kSurrogateEscape + 0xFF)
      return false;
    i += decoded.length;
  }
  return true;
}

}  // namespace penstock::source
