// Places in a baseline JPEG scan where decoding can begin, so that later crops of the same file
// need not read the Huffman codes before them. They are recorded while the scan is read: one every
// few MCUs, as far as it has been read.
//
// As bytes they are of use with the same file only, and carry a 64-bit hash of the file and of
// themselves: Begin ignores all others. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock::decode {

class Checkpoints {
 public:
  static constexpr uint32_t kMostComponents = 3;

  struct Checkpoint {
    // Of the MCU's first bit, in bits from the scan's start, counting stuffed bytes. If a restart
    // marker precedes the MCU, of the bit behind the MCU before the marker.
    uint64_t position = 0;
    std::array<int32_t, kMostComponents> dc{};  // each component's last DC coefficient

    bool operator==(const Checkpoint&) const = default;
  };

  struct BaselineScan {
    uint64_t file_sum = 0;  // 64-bit hash of the whole file
    uint64_t bytes = 0;     // of the scan
    uint32_t mcus = 0;
    uint32_t components = 0;  // 1 … kMostComponents
  };
  // Takes the points in `bytes` if they are this scan's. Otherwise it begins without points, spaced
  // such that all of them fit into `room` bytes.
  void Begin(const BaselineScan& scan, std::span<const std::byte> bytes, size_t room);
  // Begins without points, which will be at these MCUs. **Requires**: both are at least 1.
  struct Grid {
    uint32_t first = 1, spacing = 1;
  };
  void BeginOn(const BaselineScan& scan, const Grid& grid);

  // The scan, if `bytes` are of a file with this checksum.
  struct KnownScan {
    uint64_t bytes = 0;
    bool is_whole = false;  // see NoteWhole
  };
  static std::optional<KnownScan> ReadKnown(std::span<const std::byte> bytes, uint64_t file_sum);

  const Grid& grid() const { return grid_; }
  // The last point at or before this MCU; null if there is none.
  struct Found {
    uint32_t mcu = 0;
    const Checkpoint* point = nullptr;
  };
  Found Before(uint32_t mcu) const;

  // Call it at each MCU where a point may be, before it is decoded: records the point, or compares
  // it with the one that is known. Returns false if they differ.
  bool Meet(uint32_t mcu, const Checkpoint& point);

  // The scan was read to its end, and is complete and regular.
  void NoteWhole() { whole_ = true; }

  // Than Begin took.
  bool has_more() const { return points_.size() > taken_ || whole_ != took_whole_; }
  // Writes as many points as have room. Returns the number of bytes; 0 if there would be no more
  // than Begin took, and `into` is then unspecified.
  size_t Write(std::span<std::byte> into) const;

 private:
  bool Take(std::span<const std::byte> bytes);
  uint32_t SpacingFor(size_t room) const;
  void ChooseLowBits(uint8_t (&low_bits)[2]) const;
  size_t WritePoints(std::span<std::byte> into, const uint8_t (&low_bits)[2],
                     uint16_t& count) const;

  BaselineScan scan_;
  Grid grid_;
  std::vector<Checkpoint> points_;
  size_t taken_ = 0;
  bool whole_ = false, took_whole_ = false;
};

}  // namespace penstock::decode
