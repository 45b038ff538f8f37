// The finish on the CPU: uint8 NHWC rows → {uint8, float32, float16, bfloat16} × {NHWC, NCHW}.
//
// Guaranteed for every value v, channel and machine, in the default floating-point environment,
// where fl() rounds to nearest even:
//
//   uint8               v; mean and stddev are ignored
//   float32             fl(fl(fl(v / 255) − mean) / stddev)
//   float16, bfloat16   that float32, rounded once more to nearest even; infinity beyond the range
//
// The float32 bits are those of torchvision's ToTensor and Normalize on a CPU. All variants give
// the same bits.
//
// **Thread safety**: pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "penstock/finish.h"

namespace penstock::finish {

inline constexpr uint32_t kMaxChannels = 16;

// One mean and one stddev for each channel; both may be empty for uint8. `stddev` is finite and not
// 0, `mean` is finite.
struct Spec {
  Type type = Type::kFloat32;
  Layout layout = Layout::kNCHW;
  std::span<const float> mean = {};
  std::span<const float> stddev = {};
};

enum class Variant { kPortable, kAvx2 };

// The variants that this CPU supports, the fastest last.
std::vector<Variant> SupportedVariants();

size_t ElementBytes(Type type);

// Elements of the shape times the size of the type. InvalidArgument if the product exceeds 64 bits.
absl::StatusOr<uint64_t> FinishedBytes(Type type, const Shape& shape);

// Finishes all of `rows` (exactly the shape's bytes) into the first FinishedBytes of `into`. Any
// alignment; the two must not overlap. InvalidArgument names the invalid number.
absl::Status Apply(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                   std::span<std::byte> into);
absl::Status Apply(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                   std::span<std::byte> into, Variant variant);

}  // namespace penstock::finish
