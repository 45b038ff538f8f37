// Formats log lines: event=worker_exited pid=4711 reason="killed by signal 9". Pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::telemetry {

template <typename Value>
concept LogNumber = std::is_arithmetic_v<Value> && !std::same_as<Value, bool>;

// A key and its value: text (anything that absl::StrCat takes), a number or a bool. The value is
// kept as text; `type` says how JSON writes it.
struct LogField {
  enum class Type { kText, kBare };  // kBare: a finite number, true or false

  LogField(absl::string_view name, const absl::AlphaNum& text) : key(name), value(text.Piece()) {}
  template <std::same_as<bool> Bool>
  LogField(absl::string_view name, Bool truth)
      : key(name), value(truth ? "true" : "false"), type(Type::kBare) {}
  template <LogNumber Number>
  LogField(absl::string_view name, Number number)
      : key(name), value(absl::AlphaNum(number).Piece()) {
    if (number - number == Number{}) type = Type::kBare;  // JSON has neither infinity nor NaN
  }

  absl::string_view key;  // a literal: lower case, words joined by underscores
  std::string value;
  Type type = Type::kText;
};

// The most bytes of all values of one event. 64-bit numbers and paths fit many times.
inline constexpr size_t kMaxEventBytes = 8192;

// The fields with at most kMaxEventBytes of values. A value that does not fit is cut, and ends with
// "… [N bytes left out]".
std::vector<LogField> Bounded(std::span<const LogField> fields);

// A value as written in a line. A value that is empty or contains a space, quote, '=', backslash or
// control byte is quoted. Within quotes, '"' and '\' get a backslash; newline, return and tab
// become \n, \r and \t; every other control byte becomes \xNN. A line therefore stays one line,
// whatever a path or message contains.
std::string FormatValue(absl::string_view value);

// The members of a JSON object, without its braces: "event":"<event>","<key>":<value>…. Numbers
// and bools are written as such, everything else as a string. Invalid UTF-8 becomes U+FFFD.
std::string FormatJsonEvent(absl::string_view event, std::span<const LogField> fields);

// "event=<event> <key>=<value>…".
std::string FormatEvent(absl::string_view event, std::span<const LogField> fields);

// A JSON string with its quotes. Invalid UTF-8 becomes U+FFFD.
std::string ToJsonString(absl::string_view value);

}  // namespace penstock::telemetry
