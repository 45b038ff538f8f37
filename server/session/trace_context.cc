#include "server/session/trace_context.h"

#include <algorithm>

namespace penstock::session {
namespace {

constexpr size_t kVersionDigits = 2, kTraceDigits = 32, kParentDigits = 16, kFlagDigits = 2;
constexpr size_t kLength = kVersionDigits + kTraceDigits + kParentDigits + kFlagDigits + 3;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '0'; });
}

}  // namespace

// "00-<trace>-<parent>-<flags>"; later versions may append more after another "-".
std::optional<TraceContext> ParseTraceParent(absl::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-')
    return std::nullopt;
  const absl::string_view version = text.substr(0, kVersionDigits);
  const absl::string_view trace = text.substr(3, kTraceDigits);
  const absl::string_view parent = text.substr(36, kParentDigits);
  if (!IsHex(version) || !IsHex(trace) || !IsHex(parent) || !IsHex(text.substr(53, kFlagDigits)))
    return std::nullopt;
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return std::nullopt;
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  return TraceContext{.trace_id = std::string(trace), .parent_id = std::string(parent)};
}

}  // namespace penstock::session
