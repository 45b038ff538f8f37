#include "common/jpeg/header_walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace penstock::jpeg {
namespace {

constexpr uint8_t kStart = 0xD8, kScan = 0xDA, kQuantisation = 0xDB, kRestarts = 0xDD;
constexpr uint8_t kHuffman = 0xC4, kFrame = 0xC0, kLastFrame = 0xCF, kArithmetic = 0xCC;
constexpr uint8_t kReservedFrame = 0xC8, kComment = 0xFE;
constexpr uint8_t kFirstApp = 0xE0, kAdobeApp = 0xEE, kLastApp = 0xEF;
constexpr uint32_t kMostTables = 4;  // that the standard knows

// The file may change meanwhile, in shared memory: what is checked and used later is read once.
class HeaderWalker {
 public:
  explicit HeaderWalker(std::span<const std::byte> file) : file_(file) {}
  std::optional<HeaderWalk> Walk();

 private:
  using Bytes = std::span<const uint8_t>;
  struct Component {
    uint8_t id = 0, quantisation = 0;
  };

  bool IsMarker(uint8_t marker) const { return At(at_) == 0xFF && At(at_ + 1) == marker; }
  uint8_t At(size_t place) const {
    return place < file_.size() ? std::to_integer<uint8_t>(file_[place]) : uint8_t{0};
  }
  std::optional<Bytes> TakeSegment();
  bool TakeTables(uint8_t marker, Bytes segment);
  bool TakeQuantisation(Bytes segment);
  bool TakeHuffman(Bytes segment);
  bool TakeFrame(uint8_t marker, Bytes segment);
  bool TakeScanHeader(Bytes segment);
  bool IsTwice(size_t component) const;
  bool NoteColors(uint8_t marker, Bytes segment);
  bool IsYcbcr() const;

  const std::span<const std::byte> file_;
  size_t at_ = 0;
  HeaderWalk walk_;
  std::array<Component, 4> components_ = {};
  std::array<bool, kMostTables> quantisations_ = {};
  std::array<std::array<bool, 2>, 2> huffman_ = {};  // class, destination
  bool has_jfif_ = false;
  std::optional<uint8_t> adobe_transform_;
};

std::optional<HeaderWalker::Bytes> HeaderWalker::TakeSegment() {
  const size_t length = size_t{At(at_)} << 8 | At(at_ + 1);
  if (length < 2 || length > file_.size() - at_) return std::nullopt;
  const Bytes segment(reinterpret_cast<const uint8_t*>(file_.data()) + at_ + 2, length - 2);
  at_ += length;
  return segment;
}

std::optional<HeaderWalk> HeaderWalker::Walk() {
  if (file_.size() < 4 || !IsMarker(kStart)) return std::nullopt;
  at_ = 2;
  for (;;) {
    if (at_ + 4 > file_.size() || At(at_) != 0xFF) return std::nullopt;
    const uint8_t marker = At(at_ + 1);
    at_ += 2;
    const std::optional<Bytes> segment = TakeSegment();
    if (!segment) return std::nullopt;
    if (marker == kScan) {
      if (!TakeScanHeader(*segment)) return std::nullopt;
      walk_.facts.ycbcr = IsYcbcr();
      walk_.bytes = at_;
      return walk_;
    }
    if (!TakeTables(marker, *segment)) return std::nullopt;
  }
}

bool HeaderWalker::TakeTables(uint8_t marker, Bytes segment) {
  if (marker == kQuantisation) return TakeQuantisation(segment);
  if (marker == kHuffman) return TakeHuffman(segment);
  if (marker == kRestarts) {
    if (segment.size() != 2) return false;
    walk_.restart_interval = uint32_t{segment[0]} << 8 | segment[1];
    return true;
  }
  const bool is_frame =
      marker >= kFrame && marker <= kLastFrame && marker != kArithmetic && marker != kReservedFrame;
  if (is_frame) return TakeFrame(marker, segment);
  return NoteColors(marker, segment) &&
         (marker == kComment || (marker >= kFirstApp && marker <= kLastApp));
}

// Of 8 bits, as baseline has them.
bool HeaderWalker::TakeQuantisation(Bytes segment) {
  constexpr size_t kBytes = 1 + 64;
  if (segment.empty() || segment.size() % kBytes != 0) return false;
  for (; !segment.empty(); segment = segment.subspan(kBytes)) {
    const uint8_t table = segment[0];
    if (table >= kMostTables || quantisations_[table]) return false;
    for (const uint8_t step : segment.subspan(1, 64))
      if (step == 0) return false;
    quantisations_[table] = true;
  }
  return true;
}

// A run of zeros, and how many bits the coefficient behind it has (F.1.2.2). Without a coefficient
// only two runs mean something, and decoders differ about the others.
bool IsAcSymbol(uint8_t value) {
  constexpr uint8_t kEndOfBlock = 0x00, kSixteenZeros = 0xF0;
  const uint8_t bits = value & 15;
  return bits == 0 ? value == kEndOfBlock || value == kSixteenZeros : bits <= 10;
}

bool HeaderWalker::TakeHuffman(Bytes segment) {
  constexpr size_t kLengths = 16;
  if (segment.empty()) return false;
  while (!segment.empty()) {
    if (segment.size() < 1 + kLengths) return false;
    const uint8_t kind = segment[0] >> 4, destination = segment[0] & 15;
    if (kind > 1 || destination > 1 || huffman_[kind][destination]) return false;
    uint32_t codes = 0, space = 0;  // `space`: taken, in codes of 16 bits
    for (size_t length = 1; length <= kLengths; ++length) {
      codes += segment[length];
      space += uint32_t{segment[length]} << (kLengths - length);
    }
    // The code of ones alone is none (B.2.4.2).
    if (codes == 0 || codes > 256 || space >= 1 << 16 || segment.size() - 1 - kLengths < codes)
      return false;
    const uint8_t most = kind == 0 ? 11 : 255;  // a DC code says how many bits follow
    for (const uint8_t value : segment.subspan(1 + kLengths, codes))
      if (value > most || (kind == 1 && !IsAcSymbol(value))) return false;
    huffman_[kind][destination] = true;
    segment = segment.subspan(1 + kLengths + codes);
  }
  return true;
}

bool HeaderWalker::TakeFrame(uint8_t marker, Bytes segment) {
  JpegHeaderFacts& facts = walk_.facts;
  constexpr size_t kHeader = 6, kEach = 3;
  if (facts.frame_marker != 0 || segment.size() < kHeader) return false;
  facts.frame_marker = marker;
  facts.bits = segment[0];
  facts.height = uint32_t{segment[1]} << 8 | segment[2];
  facts.width = uint32_t{segment[3]} << 8 | segment[4];
  facts.components = segment[5];
  if (facts.width == 0 || facts.height == 0 || facts.components == 0 ||
      facts.components > components_.size() || segment.size() != kHeader + kEach * facts.components)
    return false;
  for (size_t i = 0; i < facts.components; ++i) {
    const Bytes each = segment.subspan(kHeader + kEach * i, kEach);
    components_[i] = {each[0], each[2]};
    facts.horizontal[i] = each[1] >> 4;
    facts.vertical[i] = each[1] & 15;
    if (components_[i].quantisation >= kMostTables || IsTwice(i)) return false;
  }
  return true;
}

bool HeaderWalker::TakeScanHeader(Bytes segment) {
  JpegHeaderFacts& facts = walk_.facts;
  if (facts.frame_marker == 0 || segment.empty()) return false;
  const size_t count = segment[0];
  if (count == 0 || count != facts.components || segment.size() != 1 + 2 * count + 3) return false;
  facts.components_of_first_scan = facts.components;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t id = segment[1 + 2 * i], tables = segment[2 + 2 * i];
    if (id != components_[i].id || !quantisations_[components_[i].quantisation]) return false;
    if (tables >> 4 > 1 || (tables & 15) > 1) return false;
    if (!huffman_[0][tables >> 4] || !huffman_[1][tables & 15]) return false;
  }
  const Bytes spectrum = segment.last(3);
  return spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
}

// Whether an earlier component has the same identifier.
bool HeaderWalker::IsTwice(size_t component) const {
  const auto end = components_.begin() + static_cast<ptrdiff_t>(component);
  return std::any_of(components_.begin(), end,
                     [&](const Component& each) { return each.id == end->id; });
}

// Like libjpeg, ignores segments that are too short. Returns false if two contradict each other.
bool HeaderWalker::NoteColors(uint8_t marker, Bytes segment) {
  constexpr size_t kJfifBytes = 14, kTransform = 11;
  if (marker == kFirstApp && segment.size() >= kJfifBytes &&
      std::memcmp(segment.data(), "JFIF", 5) == 0)
    has_jfif_ = true;
  if (marker != kAdobeApp || segment.size() <= kTransform ||
      std::memcmp(segment.data(), "Adobe", 5) != 0)
    return true;
  const uint8_t transform = segment[kTransform];
  return std::exchange(adobe_transform_, transform).value_or(transform) == transform;
}

// Only what every decoder takes for YCbCr.
bool HeaderWalker::IsYcbcr() const {
  if (walk_.facts.components != 3) return false;
  if (adobe_transform_) return *adobe_transform_ == 1;
  const bool is_numbered =
      components_[0].id == 1 && components_[1].id == 2 && components_[2].id == 3;
  return has_jfif_ || is_numbered;
}

}  // namespace

std::optional<HeaderWalk> WalkHeader(std::span<const std::byte> file) {
  return HeaderWalker(file).Walk();
}

}  // namespace penstock::jpeg
