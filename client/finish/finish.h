// The finish on the CPU: uint8 NHWC rows → {uint8, float32, float16, bfloat16} × {NHWC, NCHW}.
//
// Pure functions, any thread. What holds, for every value v, channel and machine, under the default
// floating-point environment:
//   float32   fl(fl(fl(v / 255) − mean) / stddev), where fl rounds to nearest even: bit for bit
//   what
//             torchvision's ToTensor followed by Normalize computes on a CPU
//   float16, bfloat16   that float32, rounded to nearest even once more; beyond their range:
//   infinity uint8     v; mean and stddev are not looked at
// All variants give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "penstock/finish.h"

namespace penstock::finish {

inline constexpr uint32_t kMaxChannels = 16;

// One value a channel; for uint8 both may be empty. `stddev` is finite and not 0, `mean` finite.
struct Spec {
  Type type = Type::kFloat32;
  Layout layout = Layout::kNCHW;
  std::span<const float> mean = {};
  std::span<const float> stddev = {};
};

enum class Variant { kPortable, kAvx2 };

// Those that this CPU runs, the fastest last.
std::vector<Variant> SupportedVariants();

size_t ElementBytes(Type type);

// Elements of a shape times the type's size. InvalidArgument where that does not fit 64 bits.
absl::StatusOr<uint64_t> FinishedBytes(Type type, const Shape& shape);

// Writes all of `rows` (exactly the shape's bytes) to the first FinishedBytes of `into`. Neither
// needs an alignment; they must not overlap. InvalidArgument names the number that cannot be.
absl::Status Apply(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                   std::span<std::byte> into);
absl::Status Apply(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                   std::span<std::byte> into, Variant variant);

}  // namespace penstock::finish
