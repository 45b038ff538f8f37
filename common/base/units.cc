#include "common/base/units.h"

#include <array>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace penstock::base {
namespace {

struct Unit {
  absl::string_view name;
  uint64_t factor;
};

constexpr std::array kByteUnits = {Unit{"KiB", kKiB}, Unit{"MiB", kMiB}, Unit{"GiB", kGiB},
                                   Unit{"TiB", 1024 * kGiB}, Unit{"B", 1}};
constexpr std::array kTimeUnits = {Unit{"us", 1'000}, Unit{"ms", 1'000'000},
                                   Unit{"s", 1'000'000'000}, Unit{"m", 60'000'000'000},
                                   Unit{"h", 3'600'000'000'000}};

// Parses a whole number and its unit into `result`; false if it is neither or exceeds `limit`.
template <size_t kCount>
bool Parse(absl::string_view text, const std::array<Unit, kCount>& units, uint64_t limit,
           uint64_t& result) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, digits), &number)) return false;
  for (const Unit& unit : units) {
    if (text.substr(digits) != unit.name) continue;
    if (number > limit / unit.factor) return false;
    result = number * unit.factor;
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<uint64_t> ParseBytes(absl::string_view text) {
  uint64_t bytes = 0;
  if (Parse(text, kByteUnits, std::numeric_limits<uint64_t>::max(), bytes)) return bytes;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is not a size; write a whole number and B, KiB, MiB, GiB or TiB, like 4GiB"));
}

absl::StatusOr<Duration> ParseDuration(absl::string_view text) {
  uint64_t nanoseconds = 0;
  if (Parse(text, kTimeUnits, std::numeric_limits<int64_t>::max(), nanoseconds))
    return Duration(static_cast<int64_t>(nanoseconds));
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is not a time; write a whole number and us, ms, s, m or h, like 10s"));
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%d B", bytes)
                   : absl::StrFormat("%.1f %s", value, kNames[unit]);
}

std::string FormatMilliseconds(uint64_t milliseconds) {
  constexpr uint64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  if (milliseconds == 0 || milliseconds % kSecond != 0) return absl::StrCat(milliseconds, "ms");
  if (milliseconds % kHour == 0) return absl::StrCat(milliseconds / kHour, "h");
  if (milliseconds % kMinute == 0) return absl::StrCat(milliseconds / kMinute, "m");
  return absl::StrCat(milliseconds / kSecond, "s");
}

}  // namespace penstock::base
