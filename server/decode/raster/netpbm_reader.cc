#include "server/decode/raster/netpbm_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "server/decode/core/bytes.h"

namespace penstock::decode {
namespace {

using base::Fault;

constexpr size_t kLongestToken = 10;  // as in Pillow
constexpr uint32_t kMostOfAll = 65'535;

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Splits a file's text into words and skips comments, which don't end a word.
class Words {
 public:
  Words(std::span<const std::byte> file, size_t at) : file_(file), at_(at) {}

  size_t at() const { return at_; }

  // The next character outside of comments; nullopt at the end.
  std::optional<char> Next() {
    while (at_ < file_.size()) {
      const char c = static_cast<char>(file_[at_++]);
      if (c != '#') return c;
      SkipComment();
    }
    return std::nullopt;
  }

  // Reads a number and one white-space character after it; nullopt if there is none or it is too
  // long.
  std::optional<uint64_t> Number() {
    uint64_t number = 0;
    size_t digits = 0;
    for (std::optional<char> c = Next(); c; c = Next()) {
      if (IsSpace(*c)) {
        if (digits > 0) return number;
        continue;
      }
      if (*c < '0' || *c > '9' || ++digits > kLongestToken) return std::nullopt;
      number = 10 * number + static_cast<uint64_t>(*c - '0');
    }
    ended_ = true;
    return digits > 0 ? std::optional(number) : std::nullopt;
  }
  bool ended() const { return ended_; }

 private:
  void SkipComment() {
    while (at_ < file_.size()) {
      const char c = static_cast<char>(file_[at_++]);
      if (c == '\n' || c == '\r') return;
    }
  }

  std::span<const std::byte> file_;
  size_t at_;
  bool ended_ = false;
};

void PutGray(uint8_t value, uint8_t* pixel) {
  pixel[0] = pixel[1] = pixel[2] = value;
  pixel[3] = 255;
}

// A load of four bytes takes one more than the pixel has, so the last pixel is copied alone.
void CopyRgb(const std::byte* from, uint32_t pixels, uint8_t* rgbx) {
  for (; pixels > 1; --pixels, from += 3, rgbx += 4) std::memcpy(rgbx, from, 4);
  std::memcpy(rgbx, from, 3);
}

}  // namespace

Fault NetpbmReader::ParseHeader(std::span<const std::byte> file) {
  letter_ = static_cast<char>(file[1]);
  if (letter_ < '1' || letter_ > '6') return Fault::kUnsupported;
  Words words(file, 2);
  uint64_t numbers[3] = {0, 0, 1};
  const int count = letter_ == '1' || letter_ == '4' ? 2 : 3;
  for (int i = 0; i < count; ++i) {
    const std::optional<uint64_t> number = words.Number();
    if (!number) return words.ended() ? Fault::kTruncated : Fault::kCorrupt;
    numbers[i] = *number;
  }
  if (numbers[2] < 1 || numbers[2] > kMostOfAll) return Fault::kCorrupt;
  if (numbers[0] > UINT32_MAX || numbers[1] > UINT32_MAX) return Fault::kTooManyPixels;
  most_ = static_cast<uint32_t>(numbers[2]);
  data_at_ = words.at();
  SetSize(static_cast<uint32_t>(numbers[0]), static_cast<uint32_t>(numbers[1]));
  return Fault::kNone;
}

// Pillow scales samples to 8 bits, except that it scales gray of more than 8 bits to 16 bits and
// then clips at 255. Both in double precision, rounded half to even.
uint8_t NetpbmReader::Scaled(uint32_t value) const {
  const double whole = channels() == 1 && most_ > 255 ? 65'535 : 255;
  const double scaled = std::nearbyint(static_cast<double>(value) / most_ * whole);
  return static_cast<uint8_t>(std::min(scaled, 255.0));
}

Fault NetpbmReader::CheckSize(std::span<const std::byte> data, size_t pixel_bytes) const {
  return data.size() / pixel_bytes / width() < height() ? Fault::kTruncated : Fault::kNone;
}

Fault NetpbmReader::Begin(const Box& window) {
  if (!IsPlainRgb()) return WholeReader::Begin(window);
  SetWindow(window);
  return CheckSize(file().subspan(data_at_), 3);
}

Fault NetpbmReader::ReadRows(std::span<uint8_t* const> rows) {
  if (!IsPlainRgb()) return WholeReader::ReadRows(rows);
  for (uint8_t* row : rows) {
    const size_t at = (size_t{NextRow()} * width() + window().x) * 3;
    CopyRgb(file().data() + data_at_ + at, window().width, row);
  }
  return Fault::kNone;
}

Fault NetpbmReader::Decode(std::span<const std::byte> file, Pixels& pixels) {
  const std::span<const std::byte> data = file.subspan(data_at_);
  if (letter_ <= '3') return DecodePlain(data, pixels);
  return letter_ == '4' ? DecodeBits(data, pixels) : DecodeValues(data, pixels);
}

// A 1 bit is black.
Fault NetpbmReader::DecodeBits(std::span<const std::byte> data, Pixels& pixels) const {
  const size_t stride = (size_t{width()} + 7) / 8;
  if (data.size() / stride < height()) return Fault::kTruncated;
  for (uint32_t y = 0; y < height(); ++y) {
    const std::byte* bits = data.data() + stride * y;
    uint8_t* row = pixels.row(y);
    for (uint32_t x = 0; x < width(); ++x) {
      const bool black = (std::to_integer<uint32_t>(bits[x / 8]) >> (7 - x % 8) & 1) != 0;
      PutGray(black ? 0 : 255, row + size_t{4} * x);
    }
  }
  return Fault::kNone;
}

Fault NetpbmReader::DecodeValues(std::span<const std::byte> data, Pixels& pixels) const {
  const size_t bytes = most_ > 255 ? 2 : 1;
  const size_t pixel_bytes = bytes * channels();
  if (Fault fault = CheckSize(data, pixel_bytes); fault != Fault::kNone) return fault;
  size_t at = 0;
  for (uint32_t y = 0; y < height(); ++y) {
    uint8_t* pixel = pixels.row(y);
    for (uint32_t x = 0; x < width(); ++x, pixel += 4, at += pixel_bytes) {
      for (uint32_t c = 0; c < 3; ++c) {
        const size_t from = channels() == 3 ? at + c * bytes : at;
        const uint32_t value = ReadNumber(data, from, bytes, Endian::kBig);
        pixel[c] = most_ == 255 ? static_cast<uint8_t>(value) : Scaled(value);
      }
      pixel[3] = 255;
    }
  }
  return Fault::kNone;
}

Fault NetpbmReader::DecodePlain(std::span<const std::byte> data, Pixels& pixels) const {
  Words words(data, 0);
  const auto next = [&](uint8_t& value) {
    if (letter_ != '1') {
      const std::optional<uint64_t> number = words.Number();
      if (!number) return words.ended() ? Fault::kTruncated : Fault::kCorrupt;
      if (*number > most_) return Fault::kCorrupt;
      value = Scaled(static_cast<uint32_t>(*number));
      return Fault::kNone;
    }
    std::optional<char> c = words.Next();
    while (c && IsSpace(*c)) c = words.Next();
    if (!c) return Fault::kTruncated;
    if (*c != '0' && *c != '1') return Fault::kCorrupt;
    value = *c == '1' ? 0 : 255;
    return Fault::kNone;
  };
  for (uint32_t y = 0; y < height(); ++y) {
    uint8_t* pixel = pixels.row(y);
    for (uint32_t x = 0; x < width(); ++x, pixel += 4) {
      uint8_t value = 0;
      for (uint32_t c = 0; c < channels(); ++c) {
        if (const Fault fault = next(value); fault != Fault::kNone) return fault;
        pixel[c] = value;
      }
      if (channels() == 1) PutGray(value, pixel);
      pixel[3] = 255;
    }
  }
  return Fault::kNone;
}

}  // namespace penstock::decode
