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

// The length in bytes of the first UTF-8 character; 0 if the bytes are not valid UTF-8 (RFC 3629).
size_t Utf8Length(absl::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && at(1) < 0xa0) || (first == 0xf0 && at(1) < 0x90);
  const bool beyond = (first == 0xed && at(1) > 0x9f) || (first == 0xf4 && at(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

std::string ToJsonValue(const LogField& field) {
  return field.type == LogField::Type::kBare ? field.value : ToJsonString(field.value);
}

// Cuts between characters, if the text is UTF-8.
void Shorten(std::string& value, size_t most) {
  size_t keep = most;
  for (int i = 0; i < 3 && keep > 0 && (static_cast<unsigned char>(value[keep]) & 0xc0) == 0x80;
       ++i)
    --keep;
  const size_t left_out = value.size() - keep;
  value.resize(keep);
  absl::StrAppend(&value, "… [", left_out, " bytes left out]");
}

}  // namespace

std::string ToJsonString(absl::string_view value) {
  std::string json = "\"";
  while (!value.empty()) {
    const size_t length = Utf8Length(value);
    if (length == 0) {
      json += "\\ufffd";
      value.remove_prefix(1);
      continue;
    }
    const char c = value[0];
    if (length == 1 && (c == '"' || c == '\\')) {
      json += '\\';
      json += c;
    } else if (length == 1 && IsControl(c)) {
      absl::StrAppendFormat(&json, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      json.append(value.data(), length);
    }
    value.remove_prefix(length);
  }
  return json + '"';
}

std::vector<LogField> Bounded(std::span<const LogField> fields) {
  std::vector<LogField> bounded(fields.begin(), fields.end());
  size_t left = kMaxEventBytes;
  for (LogField& field : bounded) {
    const size_t size = field.value.size();
    if (size > left) {
      Shorten(field.value, left);
      field.type = LogField::Type::kText;
    }
    left -= std::min(left, size);
  }
  return bounded;
}

std::string FormatValue(absl::string_view value) {
  if (!value.empty() && std::none_of(value.begin(), value.end(), NeedsQuotes)) {
    return std::string(value);
  }
  std::string quoted = "\"";
  for (const char c : value) AppendEscaped(quoted, c);
  quoted += '"';
  return quoted;
}

std::string FormatJsonEvent(absl::string_view event, std::span<const LogField> fields) {
  std::string line = absl::StrCat("\"event\":", ToJsonString(event));
  for (const LogField& field : fields)
    absl::StrAppend(&line, ",", ToJsonString(field.key), ":", ToJsonValue(field));
  return line;
}

std::string FormatEvent(absl::string_view event, std::span<const LogField> fields) {
  std::string line = absl::StrCat("event=", FormatValue(event));
  for (const LogField& field : fields)
    absl::StrAppend(&line, " ", field.key, "=", FormatValue(field.value));
  return line;
}

}  // namespace penstock::telemetry
