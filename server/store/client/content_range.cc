#include "server/store/client/content_range.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace penstock::store {
namespace {

bool ToNumber(absl::string_view text, uint64_t& number) {
  // SimpleAtoi also takes signs and spaces.
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, &number);
}

}  // namespace

std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  if (!absl::StartsWithIgnoreCase(text, "bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-'), slash = text.find('/');
  if (dash == absl::string_view::npos || slash == absl::string_view::npos || slash < dash)
    return std::nullopt;
  ContentRange range;
  if (!ToNumber(text.substr(0, dash), range.first) ||
      !ToNumber(text.substr(dash + 1, slash - dash - 1), range.last) || range.last < range.first)
    return std::nullopt;
  const absl::string_view total = text.substr(slash + 1);
  if (total == "*") return range;
  if (!ToNumber(total, range.total) || range.total <= range.last) return std::nullopt;
  return range;
}

}  // namespace penstock::store
