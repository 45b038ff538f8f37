// The `synthetic` source: samples that are nowhere. Their consumer makes the rows; here are only
// their number, their shape and their labels. For measuring what a trainer could do if data cost
// nothing. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"

namespace penstock::source {

struct SyntheticSpec {
  uint64_t samples = 1'281'167;
  RowShape shape = {224, 224, 3};
  uint32_t classes = 1000;
  uint64_t seed = 0;  // of rows and labels

  bool operator==(const SyntheticSpec&) const = default;
};

inline constexpr uint32_t kMaxSyntheticClasses = 65'536;
inline constexpr uint32_t kMaxSyntheticSide = 65'536;
inline constexpr uint32_t kMaxSyntheticChannels = 16;
inline constexpr uint64_t kMaxSyntheticSamples = uint64_t{1} << 40;

// InvalidArgument names the number that cannot be, by the name that it has in `ParseSynthetic`.
absl::Status Validate(const SyntheticSpec& spec);

// "synthetic:HEIGHTxWIDTHxCHANNELS" and after it, separated by commas, any of samples=, classes=,
// seed=. What is left out is as above: "synthetic:" is ImageNet's shape.
bool IsSynthetic(absl::string_view text);
absl::StatusOr<SyntheticSpec> ParseSynthetic(absl::string_view text);
// In full, as it is parsed.
std::string ToString(const SyntheticSpec& spec);

// `spec` is valid.
std::unique_ptr<Dataset> MakeSynthetic(const SyntheticSpec& spec);

}  // namespace penstock::source
