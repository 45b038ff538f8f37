// The text of a log line: event=worker_exited pid=4711 reason="killed by signal 9". Pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::telemetry {

// One key and its value, already as text: what absl::StrCat takes, and bool as true or false.
struct Field {
  Field(absl::string_view name, const absl::AlphaNum& text) : key(name), value(text.Piece()) {}
  template <std::same_as<bool> Bool>
  Field(absl::string_view name, Bool truth) : key(name), value(truth ? "true" : "false") {}

  absl::string_view key;  // a literal: lower case, words joined by underscores
  std::string value;
};

// A value as it stands in a line. One that is empty or holds a space, a quote, '=' or a backslash
// is quoted; in quotes, '"' and '\' get a backslash, newline, return and tab become \n, \r and \t,
// and every other control byte \xNN. So a line stays one line, whatever a path or a message holds.
std::string FormatValue(absl::string_view value);

// The members of a JSON object, without its braces: "event":"<event>","<key>":"<value>"…, every
// value a string. Bytes that are no UTF-8 become U+FFFD.
std::string FormatJsonEvent(absl::string_view event, std::span<const Field> fields,
                            uint64_t suppressed);

// "event=<event> <key>=<value>…", and " suppressed=<n>" at the end where n > 0.
std::string FormatEvent(absl::string_view event, std::span<const Field> fields,
                        uint64_t suppressed);

}  // namespace penstock::telemetry
