#include "server/decode/tiff/tiff_layout.h"

#include <algorithm>
#include <array>

namespace penstock::decode {
namespace {

using base::Fault;

constexpr uint32_t kMostSamples = 6;
constexpr uint32_t kWhiteIsZero = 0, kBlackIsZero = 1, kRgbColors = 2, kIndices = 3, kInkColors = 5,
                   kYccColors = 6;
constexpr uint32_t kOtherSamples = 0, kPremultiplied = 1, kAlpha = 2, kCorelsAlpha = 999;
constexpr uint32_t kUnsigned = 1, kSigned = 2, kFloat = 3;
constexpr uint32_t kJpeg = 7;

// Pillow's list, without old-style JPEG (6), fax in 16-bit words (32771), which libtiff reads and
// writes differently, and ThunderScan (32809).
bool IsKnownCompression(uint32_t compression) {
  constexpr std::array<uint32_t, 12> kKnown = {1, 2,     3,     4,     5,     7,
                                               8, 32773, 32946, 34925, 50000, 50001};
  return std::find(kKnown.begin(), kKnown.end(), compression) != kKnown.end();
}

class LayoutReader {
 public:
  LayoutReader(const TiffDirectory& directory, TiffLayout& layout)
      : directory_(directory), layout_(layout) {}

  Fault Read() {
    for (const auto read : {&LayoutReader::ReadSize, &LayoutReader::ReadSamples,
                            &LayoutReader::ReadFormat, &LayoutReader::ReadExtra}) {
      if (const Fault fault = (this->*read)(); fault != Fault::kNone) return fault;
    }
    if (!FindColor() || !IsPillows()) return Fault::kUnsupported;
    layout_.planar = layout_.planar && layout_.samples > 1;
    return Fault::kNone;
  }

 private:
  Fault ReadSize();
  Fault ReadSamples();
  Fault ReadFormat();
  Fault ReadExtra();
  bool FindColor();
  bool FindGray();
  bool FindRgb();
  bool SetColors();
  void SetGrays();
  bool IsPillows() const;
  bool IsPillowsPlanar() const;

  bool big_endian() const { return directory_.endian() == Endian::kBig; }

  const TiffDirectory& directory_;
  TiffLayout& layout_;
  uint32_t format_ = kUnsigned;
  std::vector<uint32_t> extra_;  // meanings of the samples after the colours; empty if not stated
};

Fault LayoutReader::ReadSize() {
  const auto width = directory_.One(TiffTag::kWidth, 0);
  const auto height = directory_.One(TiffTag::kHeight, 0);
  const auto orientation = directory_.One(TiffTag::kOrientation, 1);
  if (!width || !height || *width == 0 || *height == 0) return Fault::kCorrupt;
  if (!orientation) return Fault::kUnsupported;
  layout_.width = *width;
  layout_.height = *height;
  layout_.orientation = *orientation >= 1 && *orientation <= 8 ? *orientation : 1;
  return Fault::kNone;
}

// All samples of a pixel must have the same number of bits.
Fault LayoutReader::ReadSamples() {
  const auto samples = directory_.One(TiffTag::kSamplesPerPixel, 1);
  const auto compression = directory_.One(TiffTag::kCompression, 1);
  const auto photometric = directory_.One(TiffTag::kPhotometric, kWhiteIsZero);
  const auto fill_order = directory_.One(TiffTag::kFillOrder, 1);
  const auto planes = directory_.One(TiffTag::kPlanarConfiguration, 1);
  if (!samples || *samples < 1 || *samples > kMostSamples) return Fault::kUnsupported;
  if (!compression || !IsKnownCompression(*compression)) return Fault::kUnsupported;
  if (!photometric || !fill_order || *fill_order < 1 || *fill_order > 2) return Fault::kUnsupported;
  if (!planes || *planes < 1 || *planes > 2) return Fault::kUnsupported;
  layout_.samples = *samples;
  layout_.compression = *compression;
  layout_.photometric = *photometric;
  layout_.bits_reversed = *fill_order == 2;
  layout_.planar = *planes == 2;

  const TiffNumbers bits = directory_.Find(TiffTag::kBitsPerSample);
  const uint64_t first = bits.count == 0 ? 1 : directory_.Number(bits, 0);
  if (bits.count > 1 && bits.count < *samples) return Fault::kUnsupported;
  for (uint32_t i = 1; i < std::min<uint64_t>(bits.count, *samples); ++i)
    if (directory_.Number(bits, i) != first) return Fault::kUnsupported;
  if (first > 32) return Fault::kUnsupported;
  layout_.bits = static_cast<uint32_t>(first);
  return Fault::kNone;
}

// If there are several sample formats, all must be unsigned; gray must have exactly one.
Fault LayoutReader::ReadFormat() {
  const TiffNumbers format = directory_.Find(TiffTag::kSampleFormat);
  if (format.count > kMostSamples) return Fault::kUnsupported;
  for (uint64_t i = 0; i < format.count; ++i) {
    const uint64_t number = directory_.Number(format, i);
    if (number == kUnsigned) continue;
    if (format.count > 1 || number < kSigned || number > kFloat) return Fault::kUnsupported;
    format_ = static_cast<uint32_t>(number);
  }
  return Fault::kNone;
}

Fault LayoutReader::ReadExtra() {
  const TiffNumbers extra = directory_.Find(TiffTag::kExtraSamples);
  if (extra.count > kMostSamples) return Fault::kUnsupported;
  for (uint64_t i = 0; i < extra.count; ++i) {
    const uint64_t meaning = directory_.Number(extra, i);
    if (meaning > kCorelsAlpha || (i > 0 && meaning != kOtherSamples)) return Fault::kUnsupported;
    extra_.push_back(static_cast<uint32_t>(meaning));
  }
  return Fault::kNone;
}

bool LayoutReader::FindColor() {
  const uint32_t bits = layout_.bits, samples = layout_.samples;
  const bool alpha_alone = extra_.size() == 1 && extra_[0] == kAlpha;
  if (format_ != kUnsigned && samples > 1) return false;
  switch (layout_.photometric) {
    case kWhiteIsZero:
    case kBlackIsZero:
      layout_.color = TiffColor::kGrayAlpha;
      if (samples == 2) return layout_.photometric == kBlackIsZero && bits == 8 && alpha_alone;
      return samples == 1 && extra_.empty() && FindGray();
    case kIndices:
      if (format_ != kUnsigned) return false;
      if (samples == 2) return bits == 8 && alpha_alone && SetColors();
      return samples == 1 && extra_.empty() && SetColors();
    case kRgbColors:
      return FindRgb();
    case kInkColors:
      layout_.color = TiffColor::kInks;
      if (samples < 4 || extra_.size() != samples - 4) return false;
      if (!extra_.empty() && extra_[0] != kOtherSamples) return false;
      return bits == 8 || (bits == 16 && samples == 4 && !big_endian());
    case kYccColors:
      layout_.color =
          layout_.compression == kJpeg && !layout_.planar ? TiffColor::kRgb : TiffColor::kYcc;
      return bits == 8 && samples == 3 && extra_.empty() && layout_.compressed();
    default:
      return false;
  }
}

// For 16 bits and more, Pillow shows the numbers as they are, whether zero means white or black.
bool LayoutReader::FindGray() {
  const bool black_is_zero = layout_.photometric == kBlackIsZero;
  layout_.color = format_ == kFloat    ? TiffColor::kFloatGray
                  : format_ == kSigned ? TiffColor::kSignedGray
                                       : TiffColor::kDeepGray;
  switch (layout_.bits) {
    case 1:
    case 2:
    case 4:
    case 8:
      layout_.color = TiffColor::kIndexed;
      SetGrays();
      return format_ == kUnsigned;
    case 12:
      return format_ == kUnsigned && black_is_zero && !big_endian();
    case 16:
      return (format_ == kUnsigned && (black_is_zero || !big_endian())) ||
             (format_ == kSigned && black_is_zero);
    case 32:
      if (format_ == kFloat) return true;
      layout_.color = TiffColor::kSignedGray;
      return black_is_zero && (format_ == kSigned || !big_endian());
    default:
      return false;
  }
}

bool LayoutReader::FindRgb() {
  const uint32_t samples = layout_.samples;
  const uint32_t first = extra_.empty() ? kAlpha : extra_[0];
  layout_.color = first == kPremultiplied ? TiffColor::kPremultipliedRgb : TiffColor::kRgb;
  if (layout_.bits != 8 && !(layout_.bits == 16 && samples <= 4)) return false;
  if (extra_.empty()) {  // a fourth plane is taken to be premultiplied alpha
    if (samples == 4 && layout_.planar) layout_.color = TiffColor::kPremultipliedRgb;
    return samples == 3 || samples == 4;
  }
  if (samples < 4 || extra_.size() != samples - 3) return false;
  const bool corels = first == kCorelsAlpha && samples == 4 && layout_.bits == 8;
  return first <= kAlpha || corels;
}

void LayoutReader::SetGrays() {
  const uint32_t most = (1u << layout_.bits) - 1;
  for (uint32_t i = 0; i <= most; ++i) {
    const uint32_t gray = i * 255 / most;
    const uint32_t shown = layout_.photometric == kWhiteIsZero ? 255 - gray : gray;
    layout_.palette.Set(i, shown, shown, shown);
  }
}

// All reds, then all greens, then all blues, with 16 bits each, of which the upper eight are shown.
bool LayoutReader::SetColors() {
  const uint32_t bits = layout_.bits;
  layout_.color = TiffColor::kIndexed;
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8) return false;
  const TiffNumbers map = directory_.Find(TiffTag::kColorMap);
  const uint32_t colors = 1u << bits;
  if (map.count != 3 * colors || map.bytes_each != 2) return false;
  const auto at = [&](uint32_t i) { return directory_.Number(map, i) >> 8; };
  for (uint32_t i = 0; i < colors; ++i)
    layout_.palette.Set(i, at(i), at(colors + i), at(2 * colors + i));
  return true;
}

// Excludes combinations that Pillow's table lacks although it has each part, and those that it
// reads in its own way.
bool LayoutReader::IsPillows() const {
  const TiffColor color = layout_.color;
  const bool one = layout_.samples == 1;
  if (layout_.bits_reversed) {
    const bool deep =
        layout_.bits == 16 && color == TiffColor::kDeepGray && layout_.photometric == kBlackIsZero;
    const bool inverted_bytes =
        layout_.bits == 8 && layout_.photometric == kWhiteIsZero && !layout_.compressed();
    const bool rgb = layout_.photometric == kRgbColors && layout_.samples == 3 && layout_.bits == 8;
    if (inverted_bytes) return false;
    if (!rgb && !(one && color == TiffColor::kIndexed) && !(deep && !big_endian())) return false;
  }
  // Pillow interprets libtiff's native numbers as if they had the file's byte order.
  if (layout_.bits == 32 && layout_.compressed() && big_endian()) return false;
  if (color == TiffColor::kYcc && layout_.orientation != 1) return false;
  return !layout_.planar || IsPillowsPlanar();
}

bool LayoutReader::IsPillowsPlanar() const {
  if (layout_.samples == 1) {  // a single plane is read by the first letter of its mode
    const bool inverted = layout_.photometric == kWhiteIsZero;
    const bool plain = layout_.bits == 8 || (layout_.bits == 1 && layout_.photometric != kIndices);
    return layout_.compressed() || (plain && !inverted && !layout_.bits_reversed);
  }
  if (layout_.compressed()) return layout_.samples <= 4 && !layout_.bits_reversed;
  return layout_.samples == 3 && layout_.color == TiffColor::kRgb && layout_.bits == 8 &&
         !layout_.bits_reversed;
}

}  // namespace

Fault ReadTiffLayout(const TiffDirectory& directory, TiffLayout& layout) {
  layout = {};
  return LayoutReader(directory, layout).Read();
}

}  // namespace penstock::decode
