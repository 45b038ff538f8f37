// The operations that penstock-augment-image can apply, with plain numbers as parameters.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "server/augment/image.h"
#include "server/augment/scratch.h"

namespace penstock::augment {

struct Size {
  uint32_t width, height, channels;
};

using Parameters = std::span<const double>;

struct Operation {
  std::string_view name;
  size_t parameters;  // how many

  // The output's size.
  Size (*size)(const ConstImageView& input, Parameters parameters);

  // Writes `output`, which is initially a copy of the input if both have the same size. So an
  // operation that works in place ignores the input.
  void (*apply)(const ConstImageView& input, const ImageView& output, Parameters parameters,
                Scratch& scratch);
};

// The `size` of operations that keep it.
inline Size SameSize(const ConstImageView& input, Parameters) {
  return {input.width, input.height, input.channels};
}

// One table for each folder of operations.
std::span<const Operation> ColorOperations();
std::span<const Operation> ResizeOperations();  // of server/decode
std::span<const Operation> TargetOperations();
std::span<const Operation> WarpOperations();

}  // namespace penstock::augment
