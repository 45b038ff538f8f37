#include "server/decode/raster/bmp_reader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "server/decode/core/bytes.h"

namespace penstock::decode {
namespace {

using base::Fault;
using Packing = BmpReader::Packing;

constexpr size_t kFileHeaderBytes = 14;
constexpr uint32_t kOs2Header = 12, kFirstHeader = 40, kMostColors = 256;
constexpr uint32_t kRaw = 0, kRuns8 = 1, kBitFields = 3;

struct Layout {
  uint32_t bits, red, green, blue, alpha;
  Packing packing;
};

constexpr Layout kLayouts[] = {
    {32, 0xFF0000, 0xFF00, 0xFF, 0, Packing::kBgrx},
    {32, 0xFF0000, 0xFF00, 0xFF, 0xFF000000, Packing::kBgrx},
    {32, 0, 0, 0, 0, Packing::kBgrx},
    {32, 0xFF000000, 0xFF0000, 0xFF00, 0, Packing::kXbgr},
    {32, 0xFF000000, 0xFF0000, 0xFF00, 0xFF, Packing::kXbgr},
    {32, 0xFF, 0xFF00, 0xFF0000, 0xFF000000, Packing::kRgbx},
};
constexpr Layout kLayoutsWithoutAlpha[] = {
    {24, 0xFF0000, 0xFF00, 0xFF, 0, Packing::kBgr},
    {16, 0xF800, 0x7E0, 0x1F, 0, Packing::kBgr16},
    {16, 0x7C00, 0x3E0, 0x1F, 0, Packing::kBgr15},
};

void Put(uint8_t* pixel, uint32_t red, uint32_t green, uint32_t blue) {
  pixel[0] = static_cast<uint8_t>(red);
  pixel[1] = static_cast<uint8_t>(green);
  pixel[2] = static_cast<uint8_t>(blue);
  pixel[3] = 255;
}

void PutPacked(Packing packing, const std::byte* from, uint8_t* pixel) {
  const auto at = [from](size_t i) { return std::to_integer<uint32_t>(from[i]); };
  const auto part = [&](uint32_t shift, uint32_t most) {
    return ((at(0) | at(1) << 8) >> shift & most) * 255 / most;
  };
  switch (packing) {
    case Packing::kBgr15:
      return Put(pixel, part(10, 31), part(5, 31), part(0, 31));
    case Packing::kBgr16:
      return Put(pixel, part(11, 31), part(5, 63), part(0, 31));
    case Packing::kBgr:
    case Packing::kBgrx:
      return Put(pixel, at(2), at(1), at(0));
    case Packing::kXbgr:
      return Put(pixel, at(3), at(2), at(1));
    case Packing::kRgbx:
      return Put(pixel, at(0), at(1), at(2));
    case Packing::kPalette:
      return;
  }
}

}  // namespace

Fault BmpReader::ParseHeader(std::span<const std::byte> file) {
  if (file.size() < kFileHeaderBytes + 4) return Fault::kTruncated;
  header_bytes_ = Little32(file, kFileHeaderBytes);
  if (file.size() < kFileHeaderBytes + uint64_t{header_bytes_}) return Fault::kTruncated;
  if (const Fault fault = ParseInfo(file); fault != Fault::kNone) return fault;
  const uint32_t offset = Little32(file, 10);
  at_ = kFileHeaderBytes + header_bytes_;
  packing_ = Packing::kPalette;
  if (const Fault fault = ChoosePacking(file); fault != Fault::kNone) return fault;
  if (packing_ == Packing::kPalette) {
    if (const Fault fault = ReadPalette(file); fault != Fault::kNone) return fault;
  }
  // Some writers store the end of the header as the offset of the pixels.
  const bool meant = offset == kFileHeaderBytes + header_bytes_ && bits_ <= 8;
  if (offset != 0) at_ = offset + (meant ? size_t{4} * colors_ : 0);
  return Fault::kNone;
}

Fault BmpReader::ParseInfo(std::span<const std::byte> file) {
  const size_t at = kFileHeaderBytes + 4;
  if (header_bytes_ == kOs2Header) {
    SetSize(Little16(file, at), Little16(file, at + 2));
    bits_ = Little16(file, at + 6);
    compression_ = kRaw;
    top_down_ = false;
    colors_ = 0;
  } else if (header_bytes_ == kFirstHeader || header_bytes_ == 64 || header_bytes_ == 108 ||
             header_bytes_ == 124) {
    top_down_ = ByteAt(file, at + 7) == 0xFF;
    const uint32_t height = Little32(file, at + 4);
    SetSize(Little32(file, at), top_down_ ? 0 - height : height);
    bits_ = Little16(file, at + 10);
    compression_ = Little32(file, at + 12);
    colors_ = Little32(file, at + 28);
  } else {
    return Fault::kUnsupported;
  }
  if (colors_ == 0 && bits_ <= 8) colors_ = 1u << bits_;
  return Fault::kNone;
}

Fault BmpReader::ChoosePacking(std::span<const std::byte> file) {
  switch (compression_) {
    case kRuns8:
      return bits_ == 8 ? Fault::kNone : Fault::kUnsupported;
    case kBitFields:
      return ChooseBitFields(file);
    case kRaw:
      break;
    default:
      return Fault::kUnsupported;
  }
  switch (bits_) {
    case 1:
    case 4:
    case 8:
      return Fault::kNone;
    case 16:
      packing_ = Packing::kBgr15;
      return Fault::kNone;
    case 24:
      packing_ = Packing::kBgr;
      return Fault::kNone;
    case 32:
      packing_ = Packing::kBgrx;
      return Fault::kNone;
    default:
      return Fault::kUnsupported;
  }
}

// Later headers contain the masks; with the first one, they follow it.
Fault BmpReader::ChooseBitFields(std::span<const std::byte> file) {
  const bool own = header_bytes_ >= 56;
  const size_t at = kFileHeaderBytes + kFirstHeader;
  if (header_bytes_ < kFirstHeader || file.size() < at + (own ? 16 : 12)) return Fault::kTruncated;
  if (!own) at_ += 12;
  const Layout asked = {bits_,
                        Little32(file, at),
                        Little32(file, at + 4),
                        Little32(file, at + 8),
                        own ? Little32(file, at + 12) : 0,
                        Packing::kPalette};
  const auto take = [&](const Layout& known, bool with_alpha) {
    if (known.bits != asked.bits || known.red != asked.red || known.green != asked.green ||
        known.blue != asked.blue || (with_alpha && known.alpha != asked.alpha))
      return false;
    packing_ = known.packing;
    return true;
  };
  for (const Layout& known : kLayouts)
    if (take(known, true)) return Fault::kNone;
  for (const Layout& known : kLayoutsWithoutAlpha)
    if (take(known, false)) return Fault::kNone;
  return Fault::kUnsupported;
}

// If the palette is a sequence of grays, Pillow ignores it and reads the pixels as bytes or bits.
// The result is the same unless pixels have a different number of bits.
Fault BmpReader::ReadPalette(std::span<const std::byte> file) {
  if (colors_ > kMostColors) return Fault::kUnsupported;
  const size_t each = header_bytes_ == kOs2Header ? 3 : 4;
  if (at_ > file.size() || (file.size() - at_) / each < colors_) return Fault::kTruncated;
  palette_.Clear();
  bool gray = true;
  for (uint32_t i = 0; i < colors_; ++i, at_ += each) {
    const uint32_t blue = ByteAt(file, at_), green = ByteAt(file, at_ + 1),
                   red = ByteAt(file, at_ + 2);
    const uint32_t shade = colors_ == 2 && i == 1 ? 255 : i;
    gray = gray && red == shade && green == shade && blue == shade;
    palette_.Set(i, red, green, blue);
  }
  const bool same = colors_ == 2 ? bits_ == 1 : bits_ == 8;
  return !gray || same ? Fault::kNone : Fault::kUnsupported;
}

Fault BmpReader::Decode(std::span<const std::byte> file, Pixels& pixels) {
  if (at_ >= file.size()) return Fault::kTruncated;
  const std::span<const std::byte> data = file.subspan(at_);
  if (compression_ == kRuns8) return DecodeRuns(data, pixels);
  const uint64_t stride = (uint64_t{width()} * bits_ + 31) / 32 * 4;
  // The last row's padding may be missing.
  const uint64_t last = (uint64_t{width()} * bits_ + 7) / 8;
  if (data.size() < stride * (height() - 1) + last) return Fault::kTruncated;
  for (uint32_t y = 0; y < height(); ++y)
    DecodeRow(data.data() + stride * y, pixels.row(FromTop(y)));
  return Fault::kNone;
}

void BmpReader::DecodeRow(const std::byte* from, uint8_t* row) const {
  const size_t bytes = bits_ / 8;
  for (uint32_t x = 0; x < width(); ++x, row += 4) {
    if (packing_ != Packing::kPalette) {
      PutPacked(packing_, from + bytes * x, row);
    } else {
      const uint32_t a_byte = 8 / bits_, shift = 8 - bits_ - x % a_byte * bits_;
      const uint32_t index = std::to_integer<uint32_t>(from[x / a_byte]) >> shift;
      palette_.Put(static_cast<uint8_t>(index & ((1u << bits_) - 1)), row);
    }
  }
}

// Decodes runs and literals. Refuses delta codes, because readers differ in what they put into the
// skipped pixels.
Fault BmpReader::DecodeRuns(std::span<const std::byte> data, Pixels& pixels) const {
  const uint64_t all = uint64_t{width()} * height();
  uint64_t done = 0, column = 0;
  const auto put = [&](uint32_t index) {
    if (done < all) {
      const auto y = static_cast<uint32_t>(done / width());
      palette_.Put(static_cast<uint8_t>(index), pixels.row(FromTop(y)) + 4 * (done % width()));
    }
    ++done;
  };
  size_t at = 0;
  while (done < all) {
    if (data.size() - at < 2) return Fault::kTruncated;
    const uint32_t count = ByteAt(data, at), what = ByteAt(data, at + 1);
    at += 2;
    if (count != 0) {
      const uint64_t headroom = column < width() ? width() - column : 0;
      const uint64_t taken = std::min<uint64_t>(count, headroom);
      for (uint64_t i = 0; i < taken; ++i) put(what);
      column += taken;
    } else if (what == 0) {
      while (done % width() != 0) put(0);
      column = 0;
    } else if (what == 1) {
      break;
    } else if (what == 2) {
      return Fault::kUnsupported;
    } else {
      if (data.size() - at < what) return Fault::kTruncated;
      for (uint32_t i = 0; i < what; ++i) put(ByteAt(data, at + i));
      column += what;
      at += what;
      if ((at_ + at) % 2 != 0 && at < data.size()) ++at;
    }
  }
  return done < all ? Fault::kTruncated : Fault::kNone;
}

}  // namespace penstock::decode
