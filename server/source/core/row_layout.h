// What a sample is in a batch: named tensors, and the blocks of bytes that hold them. A slot has
// one block behind the other, each with its bytes of all rows: what is delivered is not
// interleaved. Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/dtype.h"

namespace penstock::source {

// The name of what images are decoded into, and of what is shown like one.
inline constexpr char kImage[] = "image";

// What a row that is an image is: uint8, in the order height, width, channels.
struct RowShape {
  uint32_t height = 0, width = 0, channels = 0;

  uint64_t bytes() const { return uint64_t{height} * width * channels; }
  bool operator==(const RowShape&) const = default;
};

inline constexpr uint32_t kMaxTensors = 32;                  // of a sample
inline constexpr uint32_t kMaxDimensions = 8;                // of a tensor
inline constexpr uint64_t kMaxRowBytes = uint64_t{1} << 30;  // of all blocks together

struct Tensor {
  std::string name;
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape;  // of one sample, row-major; none: a scalar
  uint32_t block = 0;           // which block its values are in …
  uint64_t offset = 0;          // … from this byte of the block's row on
  // Of variable length: shape[0] is the most that there can be, the int32 in this block says how
  // many there are, and the values behind them are zero.
  std::optional<uint32_t> lengths_block = {};

  uint64_t bytes() const;
  bool operator==(const Tensor&) const = default;
};

struct RowLayout {
  std::vector<uint64_t> blocks;  // bytes of a row in each; 0: whoever consumes it makes it
  std::vector<Tensor> tensors;

  uint64_t bytes() const;  // of a row in all blocks
  bool operator==(const RowLayout&) const = default;

  // Adds a tensor that fills a block of its own; of variable length where `most` says so (then
  // shape[0] is the most, and another block has the lengths).
  enum class Length { kFixed, kVariable };
  void Add(absl::string_view name, base::DType type, std::vector<uint32_t> shape,
           Length length = Length::kFixed);

  // The tensor `image`, where it is one: height, width, channels of uint8.
  const Tensor* image() const;
};

// One image a row.
RowLayout ImageLayout(uint32_t height, uint32_t width, uint32_t channels);

}  // namespace penstock::source
