// The `synthetic` source: samples without stored data. It knows only their number, shape and
// labels; the consumer generates the rows. Use it to measure how fast a trainer would run if data
// cost nothing. Pure.
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
  uint64_t seed = 0;  // for rows and labels

  bool operator==(const SyntheticSpec&) const = default;
};

inline constexpr uint32_t kMaxSyntheticClasses = 65'536;
inline constexpr uint32_t kMaxSyntheticSide = 65'536;
inline constexpr uint32_t kMaxSyntheticChannels = 16;
inline constexpr uint64_t kMaxSyntheticSamples = uint64_t{1} << 40;

// InvalidArgument names the invalid number, as it is called in `ParseSynthetic`.
absl::Status Validate(const SyntheticSpec& spec);

// Parses "synthetic:HEIGHTxWIDTHxCHANNELS", optionally followed by comma-separated samples=,
// classes=, seed=. Omitted values have the defaults above: "synthetic:" has ImageNet's shape.
bool IsSynthetic(absl::string_view text);
absl::StatusOr<SyntheticSpec> ParseSynthetic(absl::string_view text);
// The full text form, which parses to the same value.
std::string ToString(const SyntheticSpec& spec);

// **Requires**: `spec` is valid.
std::unique_ptr<Dataset> MakeSynthetic(const SyntheticSpec& spec);

}  // namespace penstock::source
