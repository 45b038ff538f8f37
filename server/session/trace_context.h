// The caller's span in a distributed trace, as in W3C Trace Context
// (https://www.w3.org/TR/trace-context/), version 1. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::session {

struct TraceContext {
  std::string trace_id = {};   // 32 lower-case hex digits, not all zero
  std::string parent_id = {};  // 16 of them: the caller's span
};

// Parses the value of `traceparent`. Nullopt if it is invalid, which the standard says to ignore.
std::optional<TraceContext> ParseTraceParent(absl::string_view text);

}  // namespace penstock::session
