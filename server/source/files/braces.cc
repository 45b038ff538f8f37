#include "server/source/files/braces.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace penstock::source {
namespace {

constexpr uint64_t kLargestNumber = std::numeric_limits<int64_t>::max();

absl::Status Wrong(absl::string_view pattern, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", pattern, "': ", why, "; wanted braces like {000..146}, {0..90..10} or {train,val}"));
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool HasLeadingZero(absl::string_view text) { return text.size() > 1 && text[0] == '0'; }

// Expands "a..b" or "a..b..s".
absl::StatusOr<std::vector<std::string>> Count(absl::string_view inside,
                                               absl::string_view pattern) {
  const std::vector<absl::string_view> parts = absl::StrSplit(inside, "..");
  if (parts.size() < 2 || parts.size() > 3 || !std::all_of(parts.begin(), parts.end(), IsNumber))
    return Wrong(pattern, absl::StrCat("{", inside, "} has neither a comma nor two numbers"));
  uint64_t from = 0, to = 0, step = 1;
  const bool read = absl::SimpleAtoi(parts[0], &from) && absl::SimpleAtoi(parts[1], &to) &&
                    (parts.size() == 2 || absl::SimpleAtoi(parts[2], &step));
  if (!read || step == 0 || step > kLargestNumber) return Wrong(pattern, "a step of 0");
  const uint64_t count = (from < to ? to - from : from - to) / step + 1;
  if (count > kMostExpanded)
    return Wrong(pattern, absl::StrCat("it means more than ", kMostExpanded, " files"));
  const bool padded = HasLeadingZero(parts[0]) || HasLeadingZero(parts[1]);
  const int width = padded ? static_cast<int>(std::max(parts[0].size(), parts[1].size())) : 0;
  std::vector<std::string> numbers;
  for (uint64_t i = 0; i < count; ++i)
    numbers.push_back(
        absl::StrFormat("%0*d", width, from < to ? from + i * step : from - i * step));
  return numbers;
}

// Expands the content of one pair of braces.
absl::StatusOr<std::vector<std::string>> Inside(absl::string_view inside,
                                                absl::string_view pattern) {
  if (inside.find(',') == absl::string_view::npos) return Count(inside, pattern);
  return std::vector<std::string>(absl::StrSplit(inside, ','));
}

absl::Status Append(const std::vector<std::string>& choices, absl::string_view pattern,
                    std::vector<std::string>& all) {
  if (choices.size() > kMostExpanded / all.size())
    return Wrong(pattern, absl::StrCat("it means more than ", kMostExpanded, " files"));
  std::vector<std::string> longer;
  for (const std::string& begin : all)
    for (const std::string& choice : choices) longer.push_back(begin + choice);
  all = std::move(longer);
  return absl::OkStatus();
}

}  // namespace

bool HasBraces(absl::string_view pattern) { return pattern.find('{') != absl::string_view::npos; }

absl::StatusOr<std::vector<std::string>> ExpandBraces(absl::string_view pattern) {
  std::vector<std::string> all = {""};
  for (absl::string_view rest = pattern; !rest.empty();) {
    const size_t open = rest.find_first_of("{}");
    const std::string plain(rest.substr(0, open));
    for (std::string& text : all) text += plain;
    if (open == absl::string_view::npos) break;
    if (rest[open] == '}') return Wrong(pattern, "a '}' without its '{'");
    rest.remove_prefix(open + 1);
    const size_t close = rest.find_first_of("{}");
    if (close == absl::string_view::npos) return Wrong(pattern, "a '{' without its '}'");
    if (rest[close] == '{') return Wrong(pattern, "braces within braces");
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> choices,
                              Inside(rest.substr(0, close), pattern));
    PENSTOCK_RETURN_IF_ERROR(Append(choices, pattern, all));
    rest.remove_prefix(close + 1);
  }
  return all;
}

}  // namespace penstock::source
