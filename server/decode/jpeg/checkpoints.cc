#include "server/decode/jpeg/checkpoints.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/crc32c.h"

namespace penstock::decode {
namespace {

static_assert(std::endian::native == std::endian::little, "points are little-endian");

struct Header {
  uint32_t sum;  // of the file and of all that follows
  uint32_t mcus;
  uint16_t spacing;
  uint16_t points;
};
static_assert(sizeof(Header) == 12);

// A point is packed into as few bytes as its components need: how far it is from the point before
// it, in bits, and the coefficients. Eleven bits hold all coefficients of images with eight bits.
constexpr int kPositionBits = 23;
constexpr int kDcBits = 11;
constexpr uint64_t kPositionMask = (uint64_t{1} << kPositionBits) - 1;
constexpr uint64_t kDcMask = (uint64_t{1} << kDcBits) - 1;
constexpr int32_t kDcHalf = 1 << (kDcBits - 1);
static_assert(kPositionBits + Checkpoints::kMostComponents * kDcBits <= 64);

bool IsPackable(const Checkpoints::Point& point, uint64_t before) {
  return point.position > before && point.position - before <= kPositionMask &&
         std::ranges::all_of(point.dc, [](int32_t dc) { return dc >= -kDcHalf && dc < kDcHalf; });
}

uint64_t Packed(const Checkpoints::Point& point, uint64_t before) {
  uint64_t word = point.position - before;
  int shift = kPositionBits;
  for (const int32_t dc : point.dc) {
    word |= static_cast<uint64_t>(dc + kDcHalf) << shift;
    shift += kDcBits;
  }
  return word;
}

Checkpoints::Point Unpacked(uint64_t word, uint64_t before, uint32_t components) {
  Checkpoints::Point point = {.position = before + (word & kPositionMask)};
  word >>= kPositionBits;
  for (uint32_t i = 0; i < components; ++i, word >>= kDcBits)
    point.dc[i] = static_cast<int32_t>(word & kDcMask) - kDcHalf;
  return point;
}

// `bytes`: with a header.
uint32_t SumOf(uint32_t file_sum, std::span<const std::byte> bytes) {
  const std::array sums = {file_sum, base::Crc32c(bytes.subspan(sizeof(Header::sum)))};
  return base::Crc32c(std::as_bytes(std::span(sums)));
}

}  // namespace

size_t Checkpoints::point_bytes() const {
  return (kPositionBits + scan_.components * kDcBits + 7) / 8;
}

void Checkpoints::Begin(const Scan& scan, std::span<const std::byte> bytes, size_t room) {
  scan_ = scan;
  if (!Take(bytes)) {
    points_.clear();
    Space(room);
  }
  taken_ = points_.size();
}

void Checkpoints::Space(size_t room) {
  const size_t most = (room - std::min(room, sizeof(Header))) / point_bytes();
  spacing_ = std::max<uint32_t>(1, static_cast<uint32_t>((scan_.mcus + most) / (most + 1)));
}

bool Checkpoints::Take(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.sum != SumOf(scan_.file_sum, bytes)) return false;
  bytes = bytes.subspan(sizeof header);
  if (header.mcus != scan_.mcus || header.spacing == 0 ||
      uint64_t{header.spacing} * header.points >= scan_.mcus ||
      bytes.size() != header.points * point_bytes()) {
    return false;
  }
  spacing_ = header.spacing;
  points_.clear();
  uint64_t position = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(point_bytes())) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), point_bytes());
    points_.push_back(Unpacked(word, position, scan_.components));
    if (points_.back().position == position) return false;
    position = points_.back().position;
  }
  return position < 8 * scan_.bytes;
}

Checkpoints::Found Checkpoints::Before(uint32_t mcu) const {
  const size_t number = std::min<size_t>(mcu / spacing_, points_.size());  // counted from one
  if (number == 0) return {};
  return {static_cast<uint32_t>(number) * spacing_, &points_[number - 1]};
}

bool Checkpoints::Meet(uint32_t mcu, const Point& point) {
  const size_t place = mcu / spacing_ - 1;
  if (place < points_.size()) return points_[place] == point;
  const uint64_t before = points_.empty() ? 0 : points_.back().position;
  // Points that cannot be packed end the record.
  if (place == points_.size() && IsPackable(point, before)) points_.push_back(point);
  return true;
}

size_t Checkpoints::Write(std::span<std::byte> into) const {
  const size_t bytes = sizeof(Header) + points_.size() * point_bytes();
  if (into.size() < bytes || spacing_ > UINT16_MAX || points_.size() > UINT16_MAX) return 0;
  Header header = {.sum = 0,
                   .mcus = scan_.mcus,
                   .spacing = static_cast<uint16_t>(spacing_),
                   .points = static_cast<uint16_t>(points_.size())};
  std::memcpy(into.data(), &header, sizeof header);
  std::span<std::byte> rest = into.subspan(sizeof header);
  uint64_t before = 0;
  for (const Point& point : points_) {
    const uint64_t word = Packed(point, before);
    std::memcpy(rest.data(), &word, point_bytes());
    rest = rest.subspan(point_bytes());
    before = point.position;
  }
  header.sum = SumOf(scan_.file_sum, into.first(bytes));
  std::memcpy(into.data(), &header.sum, sizeof header.sum);
  return bytes;
}

}  // namespace penstock::decode
