#include "common/telemetry/line.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace penstock::telemetry {
namespace {

constexpr unsigned char kDelete = 0x7f;

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == kDelete;
}

bool NeedsQuotes(char c) { return c == ' ' || c == '"' || c == '=' || c == '\\' || IsControl(c); }

void AppendEscaped(std::string& line, char c) {
  switch (c) {
    case '"':
      line += "\\\"";
      return;
    case '\\':
      line += "\\\\";
      return;
    case '\n':
      line += "\\n";
      return;
    case '\r':
      line += "\\r";
      return;
    case '\t':
      line += "\\t";
      return;
    default:
      if (IsControl(c)) {
        absl::StrAppendFormat(&line, "\\x%02x", static_cast<unsigned char>(c));
      } else {
        line += c;
      }
  }
}

}  // namespace

std::string FormatValue(absl::string_view value) {
  if (!value.empty() && std::none_of(value.begin(), value.end(), NeedsQuotes)) {
    return std::string(value);
  }
  std::string quoted = "\"";
  for (const char c : value) AppendEscaped(quoted, c);
  quoted += '"';
  return quoted;
}

std::string FormatEvent(absl::string_view event, std::span<const Field> fields,
                        uint64_t suppressed) {
  std::string line = absl::StrCat("event=", FormatValue(event));
  for (const Field& field : fields)
    absl::StrAppend(&line, " ", field.key, "=", FormatValue(field.value));
  if (suppressed > 0) absl::StrAppend(&line, " suppressed=", suppressed);
  return line;
}

}  // namespace penstock::telemetry
