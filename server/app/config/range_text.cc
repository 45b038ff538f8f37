#include "server/app/config/range_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digits.h"

namespace penstock::app {
namespace {

constexpr uint64_t kMillionths = 1'000'000;
constexpr size_t kDecimals = 6;

bool ParseWhole(absl::string_view text, uint64_t& number) {
  return base::IsDigits(text) && absl::SimpleAtoi(text, &number);
}

// Parses "12.5" as 12,500,000. Accepts at most 100, with at most six decimals.
bool ParsePercent(absl::string_view text, uint64_t& millionths) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('.', 1));
  uint64_t whole = 0, fraction = 0;
  if (!ParseWhole(halves.first, whole) || whole > 100) return false;
  if (text.find('.') != absl::string_view::npos) {
    if (halves.second.size() > kDecimals || !ParseWhole(halves.second, fraction)) return false;
    for (size_t i = halves.second.size(); i < kDecimals; ++i) fraction *= 10;
  }
  millionths = whole * kMillionths + fraction;
  return millionths <= 100 * kMillionths;
}

uint64_t Share(uint64_t millionths, uint64_t samples) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(samples) * millionths /
                               (100 * kMillionths));
}

}  // namespace

absl::StatusOr<RangeText> ParseRange(absl::string_view text) {
  const auto wrong = [text] {
    return absl::InvalidArgumentError(
        absl::StrCat("got '", text,
                     "', wanted a range like 0..50000 or 90%..100%; the end is not "
                     "included"));
  };
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits("..", 1));
  absl::string_view begin = ends.first, end = ends.second;
  RangeText range;
  range.in_percent = absl::ConsumeSuffix(&end, "%");
  if (absl::ConsumeSuffix(&begin, "%") != range.in_percent) return wrong();
  const auto parse = range.in_percent ? ParsePercent : ParseWhole;
  if (!parse(begin, range.begin) || !parse(end, range.end) || range.begin >= range.end)
    return wrong();
  return range;
}

absl::StatusOr<plan::Range> Resolve(const RangeText& range, uint64_t samples) {
  const uint64_t begin = range.in_percent ? Share(range.begin, samples) : range.begin;
  const uint64_t end = range.in_percent ? Share(range.end, samples) : range.end;
  const plan::Range resolved = {.first = begin, .count = end - begin};
  PENSTOCK_RETURN_IF_ERROR(plan::Validate(resolved, {.first = 0, .count = samples}));
  return resolved;
}

}  // namespace penstock::app
