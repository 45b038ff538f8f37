#include "server/decode/jpeg/checkpoints.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/hash.h"
#include "server/decode/jpeg/rice_codes.h"

namespace penstock::decode {
namespace {

static_assert(std::endian::native == std::endian::little, "points are little-endian");

struct Header {
  uint8_t sum[sizeof(uint64_t)];  // of the file and of all that follows
  uint32_t scan_bytes;
  uint16_t first, spacing;
  uint16_t points;
  uint8_t low_bits[2];  // of the Rice codes of positions, and of coefficients
  uint8_t whole;        // 1: see NoteWhole
  uint8_t unused;
};
static_assert(sizeof(Header) == 24);

// What a point takes, without its coefficients and for each of them; measured with ImageNet's
// photographs. Points that find no room are left out.
constexpr size_t kPositionBits = 15;
constexpr size_t kDcBits = 8;

// Numbers are written as differences from the point before. Negative ones are odd.
uint32_t Folded(int32_t number) {
  return static_cast<uint32_t>(number) << 1 ^ static_cast<uint32_t>(number >> 31);
}
int32_t Unfolded(uint32_t number) { return static_cast<int32_t>(number >> 1 ^ -(number & 1)); }

constexpr uint64_t kMostDistance = uint64_t{1} << 28;

// `bytes`: with a header.
uint64_t SumOf(uint64_t file_sum, std::span<const std::byte> bytes) {
  constexpr uint64_t kVersion = 2;  // of the header; sums of others do not match
  const std::array sums = {kVersion, file_sum, base::Hash(bytes.subspan(sizeof(Header::sum)))};
  return base::Hash(std::as_bytes(std::span(sums)));
}

std::optional<Header> ReadHeader(std::span<const std::byte> bytes, uint64_t file_sum) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t sum = SumOf(file_sum, bytes);
  if (std::memcmp(header.sum, &sum, sizeof sum) != 0) return std::nullopt;
  return header;
}

}  // namespace

std::optional<Checkpoints::KnownScan> Checkpoints::ReadKnown(std::span<const std::byte> bytes,
                                                             uint64_t file_sum) {
  const std::optional<Header> header = ReadHeader(bytes, file_sum);
  if (!header) return std::nullopt;
  return KnownScan{header->scan_bytes, header->whole == 1};
}

void Checkpoints::Begin(const BaselineScan& scan, std::span<const std::byte> bytes, size_t room) {
  scan_ = scan;
  if (!Take(bytes)) {
    const uint32_t spacing = SpacingFor(room);
    BeginOn(scan, {.first = spacing, .spacing = spacing});
  }
  taken_ = points_.size();
  took_whole_ = whole_;
}

void Checkpoints::BeginOn(const BaselineScan& scan, const Grid& grid) {
  scan_ = scan;
  grid_ = grid;
  points_.clear();
  taken_ = 0;
  whole_ = took_whole_ = false;
}

uint32_t Checkpoints::SpacingFor(size_t room) const {
  const size_t bits = 8 * (room - std::min(room, sizeof(Header)));
  const size_t most = bits / (kPositionBits + scan_.components * kDcBits);
  return std::max<uint32_t>(1, static_cast<uint32_t>((scan_.mcus + most) / (most + 1)));
}

bool Checkpoints::Take(std::span<const std::byte> bytes) {
  const std::optional<Header> header = ReadHeader(bytes, scan_.file_sum);
  const bool sound = header && header->scan_bytes == scan_.bytes && header->first > 0 &&
                     header->spacing > 0 && header->low_bits[0] <= kMostLow &&
                     header->low_bits[1] <= kMostLow;
  if (!sound) return false;
  // The last point is at an MCU that the scan has.
  const uint64_t next = header->first + header->points * uint64_t{header->spacing};
  if (next >= uint64_t{scan_.mcus} + header->spacing) return false;
  grid_ = {header->first, header->spacing};
  points_.clear();
  RiceReader codes(bytes.subspan(sizeof(Header)));
  Checkpoint point;
  for (uint32_t i = 0; i < header->points; ++i) {
    point.position += codes.Take(header->low_bits[0]);
    bool possible = point.position < 8 * scan_.bytes;
    for (uint32_t k = 0; k < scan_.components; ++k) {
      point.dc[k] += Unfolded(codes.Take(header->low_bits[1]));
      possible = possible && point.dc[k] == static_cast<int16_t>(point.dc[k]);
    }
    if (!possible || !codes.ok()) return false;
    points_.push_back(point);
  }
  whole_ = header->whole == 1;
  return true;
}

Checkpoints::Found Checkpoints::Before(uint32_t mcu) const {
  if (points_.empty() || mcu < grid_.first) return {};
  const size_t place = std::min<size_t>((mcu - grid_.first) / grid_.spacing, points_.size() - 1);
  return {grid_.first + static_cast<uint32_t>(place) * grid_.spacing, &points_[place]};
}

bool Checkpoints::Meet(uint32_t mcu, const Checkpoint& point) {
  const size_t place = (mcu - grid_.first) / grid_.spacing;
  if (place < points_.size()) return points_[place] == point;
  const uint64_t before = points_.empty() ? 0 : points_.back().position;
  const bool fits = point.position >= before && point.position - before < kMostDistance &&
                    points_.size() < UINT16_MAX;
  if (place == points_.size() && fits) points_.push_back(point);
  return true;
}

// The best for most of the numbers.
void Checkpoints::ChooseLowBits(uint8_t (&low_bits)[2]) const {
  uint64_t distances = 0, differences = 0;
  Checkpoint before;
  for (const Checkpoint& point : points_) {
    distances += point.position - before.position;
    for (uint32_t k = 0; k < scan_.components; ++k)
      differences += Folded(point.dc[k] - before.dc[k]);
    before = point;
  }
  const uint64_t count = std::max<uint64_t>(points_.size(), 1);
  low_bits[0] = static_cast<uint8_t>(LowBitsFor(distances / count));
  low_bits[1] = static_cast<uint8_t>(LowBitsFor(differences / count / scan_.components));
}

// As many as have room; `count` is their number. Returns how many bytes they take.
size_t Checkpoints::WritePoints(std::span<std::byte> into, const uint8_t (&low_bits)[2],
                                uint16_t& count) const {
  RiceWriter codes(into);
  uint64_t bits = 0;
  Checkpoint before;
  for (const Checkpoint& point : points_) {
    uint32_t numbers[1 + kMostComponents] = {
        static_cast<uint32_t>(point.position - before.position)};
    bits += RiceWriter::BitsOf(numbers[0], low_bits[0]);
    for (uint32_t k = 0; k < scan_.components; ++k) {
      numbers[1 + k] = Folded(point.dc[k] - before.dc[k]);
      bits += RiceWriter::BitsOf(numbers[1 + k], low_bits[1]);
    }
    if (bits > 8 * into.size()) break;
    codes.Put(numbers[0], low_bits[0]);
    for (uint32_t k = 0; k < scan_.components; ++k) codes.Put(numbers[1 + k], low_bits[1]);
    before = point;
    ++count;
  }
  return codes.End();
}

size_t Checkpoints::Write(std::span<std::byte> into) const {
  if (into.size() < sizeof(Header) || grid_.first > UINT16_MAX || grid_.spacing > UINT16_MAX ||
      scan_.bytes > UINT32_MAX) {
    return 0;
  }
  Header header = {.sum = {},
                   .scan_bytes = static_cast<uint32_t>(scan_.bytes),
                   .first = static_cast<uint16_t>(grid_.first),
                   .spacing = static_cast<uint16_t>(grid_.spacing),
                   .points = 0,
                   .low_bits = {},
                   .whole = whole_,
                   .unused = 0};
  ChooseLowBits(header.low_bits);
  const size_t bytes =
      sizeof header + WritePoints(into.subspan(sizeof header), header.low_bits, header.points);
  if (header.points <= taken_ && taken_ > 0 && whole_ == took_whole_) return 0;
  std::memcpy(into.data(), &header, sizeof header);
  const uint64_t sum = SumOf(scan_.file_sum, into.first(bytes));
  std::memcpy(into.data(), &sum, sizeof sum);
  return bytes;
}

}  // namespace penstock::decode
