// Sizes and times as people write them: "4GiB", "250ms".
#pragma once

#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::base {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// A whole number directly followed by B, KiB, MiB, GiB or TiB. InvalidArgument names what was got
// and an example; overflow of 64 bits is refused.
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

// A whole number directly followed by us, ms, s, m or h.
absl::StatusOr<Duration> ParseDuration(absl::string_view text);

// "38.5 MB" is not written anywhere: binary units, one decimal. 0 is "0 B".
std::string FormatBytes(uint64_t bytes);

// As ParseDuration takes it, in the largest unit that leaves a whole number: 90s, 2h, 1500ms; 0ms.
std::string FormatMilliseconds(uint64_t milliseconds);

}  // namespace penstock::base
