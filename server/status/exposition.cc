#include "server/status/exposition.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock::status {
namespace {

// The length of the UTF-8 character at `at`; 0 if there is no valid one.
size_t CharacterAt(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t length = first < 0x80                     ? 1
                        : first >= 0xc2 && first < 0xe0  ? 2
                        : first >= 0xe0 && first < 0xf0  ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
  if (length == 0 || length > text.size() - at) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and code points beyond the last.
  const unsigned char second = length > 2 ? byte(at + 1) : 0x80;
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

enum class Quotes { kPlain, kEscaped };

void AppendText(const std::string& text, Quotes quotes, std::string& out) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = CharacterAt(text, at);
    const char c = length == 0 ? '?' : text[at];
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes == Quotes::kEscaped) {
      out += "\\\"";
    } else if (length > 1) {
      out.append(text, at, length);
    } else {
      out += c;
    }
    at += length == 0 ? 1 : length;
  }
}

// The shortest text that parses to the same number.
void AppendNumber(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char text[32];
    out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }
}

// "{a="1",b="2"}"
void AppendLabels(const std::vector<Label>& labels, std::string& out) {
  const char* before = "{";
  for (const auto& [label, value] : labels) {
    absl::StrAppend(&out, before, label, "=\"");
    AppendText(value, Quotes::kEscaped, out);
    out += '"';
    before = ",";
  }
  out += '}';
}

void AppendSample(const std::string& name, const Sample& sample, TextFormat format,
                  std::string& out) {
  absl::StrAppend(&out, name, sample.suffix);
  if (!sample.labels.empty()) AppendLabels(sample.labels, out);
  out += ' ';
  AppendNumber(sample.value, out);
  if (format == TextFormat::kOpenMetrics && sample.exemplar) {
    out += " # ";
    AppendLabels(sample.exemplar->labels, out);
    out += ' ';
    AppendNumber(sample.exemplar->value, out);
  }
  out += '\n';
}

absl::string_view NameOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

}  // namespace

std::string Format(const std::vector<Family>& families, TextFormat format) {
  const bool open = format == TextFormat::kOpenMetrics;
  std::string out;
  for (const Family& family : families) {
    if (family.samples.empty()) continue;
    absl::string_view name = family.name;
    if (open && family.type == MetricType::kCounter) absl::ConsumeSuffix(&name, "_total");
    absl::StrAppend(&out, "# HELP ", name, " ");
    AppendText(family.help, open ? Quotes::kEscaped : Quotes::kPlain, out);
    absl::StrAppend(&out, "\n# TYPE ", name, " ", NameOf(family.type), "\n");
    for (const Sample& sample : family.samples) AppendSample(family.name, sample, format, out);
  }
  if (open) out += "# EOF\n";
  return out;
}

}  // namespace penstock::status
