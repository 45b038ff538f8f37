// Formats log lines: event=worker_exited pid=4711 reason="killed by signal 9". Pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::telemetry {

// A key and its value as text: anything that absl::StrCat takes, and bool as true or false.
struct LogField {
  LogField(absl::string_view name, const absl::AlphaNum& text) : key(name), value(text.Piece()) {}
  template <std::same_as<bool> Bool>
  LogField(absl::string_view name, Bool truth) : key(name), value(truth ? "true" : "false") {}

  absl::string_view key;  // a literal: lower case, words joined by underscores
  std::string value;
};

// A value as written in a line. A value that is empty or contains a space, quote, '=', backslash or
// control byte is quoted. Within quotes, '"' and '\' get a backslash; newline, return and tab
// become \n, \r and \t; every other control byte becomes \xNN. A line therefore stays one line,
// whatever a path or message contains.
std::string FormatValue(absl::string_view value);

// The members of a JSON object, without its braces: "event":"<event>","<key>":"<value>"…; all
// values are strings. Invalid UTF-8 becomes U+FFFD.
std::string FormatJsonEvent(absl::string_view event, std::span<const LogField> fields,
                            uint64_t suppressed);

// "event=<event> <key>=<value>…", followed by " suppressed=<n>" if n > 0.
std::string FormatEvent(absl::string_view event, std::span<const LogField> fields,
                        uint64_t suppressed);

}  // namespace penstock::telemetry
