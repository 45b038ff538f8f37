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

// A whole number directly followed by B, KiB, MiB, GiB or TiB.
//
// **Errors**: InvalidArgument quotes the text and gives an example; also if the size exceeds 64
// bits.
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

// A whole number directly followed by us, ms, s, m or h. **Errors**: as ParseBytes.
absl::StatusOr<Duration> ParseDuration(absl::string_view text);

// Binary units with one decimal ("36.7 MiB"); whole bytes below 1 KiB ("0 B").
std::string FormatBytes(uint64_t bytes);

// In the form that ParseDuration reads, in the largest unit that leaves a whole number: 90s, 2h,
// 1500ms; 0ms.
std::string FormatMilliseconds(uint64_t milliseconds);

}  // namespace penstock::base
