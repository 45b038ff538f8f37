#include "server/source/annotated/names_scan.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kWantedYaml =
    "; wanted names: [a, b], or below 'names:' lines like '- a' or '0: a'";

// Splits a text into lines, whose ends may be those of Windows, and adds names.
class NamesScan {
 public:
  NamesScan(absl::string_view text, std::string path) : rest_(text), path_(std::move(path)) {
    absl::ConsumePrefix(&rest_, "\xEF\xBB\xBF");
  }

  absl::StatusOr<ScannedList> Lines() {
    while (Next()) {
      const absl::string_view name = absl::StripAsciiWhitespace(line_);
      if (!name.empty()) PENSTOCK_RETURN_IF_ERROR(Add(name));
    }
    return Finish();
  }

  absl::StatusOr<ScannedList> Yaml() {
    while (Next()) {
      absl::string_view value = line_;
      if (!absl::ConsumePrefix(&value, "names:")) continue;
      value = Uncommented(value);
      if (value.empty()) return Block();
      return Flow(value);
    }
    return Wrong("it has no key 'names'");
  }

 private:
  bool Next() {
    if (rest_.empty()) return false;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    absl::ConsumeSuffix(&line_, "\r");
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }

  absl::Status Add(absl::string_view name) {
    if (name.size() > kLongestListPath || absl::StrContains(name, '\0'))
      return Wrong("the name is too long or has a NUL byte");
    constexpr uint64_t kLast = std::numeric_limits<uint32_t>::max();
    list_.paths.insert(list_.paths.end(), name.begin(), name.end());
    list_.rows.push_back({.path_bytes = static_cast<uint32_t>(name.size()),
                          .line = static_cast<uint32_t>(std::min(number_, kLast))});
    return absl::OkStatus();
  }

  absl::StatusOr<ScannedList> Finish() {
    if (list_.rows.empty()) return Wrong("it has no names");
    return std::move(list_);
  }

  // Without the comment, for lines whose quotes do not hold a number sign.
  static absl::string_view Uncommented(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '#' && (i == 0 || absl::ascii_isspace(text[i - 1]))) text = text.substr(0, i);
    return absl::StripAsciiWhitespace(text);
  }

  // A scalar without escapes.
  absl::Status AddScalar(absl::string_view text) {
    const bool quoted = absl::StartsWith(text, "'") || absl::StartsWith(text, "\"");
    if (quoted) {
      const char quote = text[0];
      if (text.size() < 2 || text.back() != quote)
        return Wrong("a quote does not end", kWantedYaml);
      text = text.substr(1, text.size() - 2);
      if (absl::StrContains(text, quote) || (quote == '"' && absl::StrContains(text, '\\')))
        return Wrong("a name has a quote or an escape in quotes, which is not read");
    } else if (text.empty() || absl::StrContains(text, ": ") ||
               text.find_first_of("&*!|>%@`{}[]\"'") != absl::string_view::npos) {
      return Wrong("a name is missing, or needs quotes", kWantedYaml);
    }
    if (text.empty()) return Wrong("a name is empty");
    return Add(text);
  }

  // [a, b] or {0: a, 1: b}, on one line or several.
  absl::StatusOr<ScannedList> Flow(absl::string_view first) {
    const bool is_map = absl::StartsWith(first, "{");
    const char end = is_map ? '}' : ']';
    if (!is_map && !absl::StartsWith(first, "[")) return Wrong("it is no list", kWantedYaml);
    absl::string_view left = first.substr(1);
    for (;;) {
      left = absl::StripLeadingAsciiWhitespace(left);
      if (left.empty()) {
        if (!Next()) return Wrong("the list does not end");
        left = Uncommented(line_);
        continue;
      }
      if (left[0] == end) return left.size() == 1 ? Finish() : Wrong("something after the list");
      const size_t comma = EndOfItem(left, end);
      const absl::string_view item = absl::StripAsciiWhitespace(left.substr(0, comma));
      PENSTOCK_RETURN_IF_ERROR(is_map ? AddNumbered(item) : AddScalar(item));
      left.remove_prefix(comma);
      absl::ConsumePrefix(&left, ",");
    }
  }

  static size_t EndOfItem(absl::string_view text, char end) {
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] == quote) quote = 0;
      } else if (text[i] == '\'' || text[i] == '"') {
        quote = text[i];
      } else if (text[i] == ',' || text[i] == end) {
        return i;
      }
    }
    return text.size();
  }

  absl::StatusOr<ScannedList> Block() {
    while (Next()) {
      absl::string_view item = Uncommented(line_);
      if (item.empty()) continue;
      const bool is_list = absl::ConsumePrefix(&item, "- ");
      if (!is_list && !absl::ascii_isspace(line_[0])) break;  // the next key
      PENSTOCK_RETURN_IF_ERROR(is_list ? AddScalar(absl::StripAsciiWhitespace(item))
                                       : AddNumbered(item));
    }
    return Finish();
  }

  // "3: name", in order.
  absl::Status AddNumbered(absl::string_view item) {
    const size_t colon = item.find(':');
    uint64_t number = 0;
    if (colon == absl::string_view::npos ||
        !absl::SimpleAtoi(absl::StripAsciiWhitespace(item.substr(0, colon)), &number) ||
        number != list_.rows.size())
      return Wrong("the number of a name is missing, or not the next one", kWantedYaml);
    return AddScalar(absl::StripAsciiWhitespace(item.substr(colon + 1)));
  }

  absl::Status Wrong(absl::string_view why, absl::string_view wanted = "") const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", number_, ": ", why, wanted));
  }

  absl::string_view rest_, line_;
  const std::string path_;
  uint64_t number_ = 0;
  ScannedList list_;
};

}  // namespace

absl::StatusOr<ScannedList> ScanNames(absl::string_view text, NamesFormat format,
                                      const std::string& path) {
  NamesScan scan(text, path);
  return format == NamesFormat::kYaml ? scan.Yaml() : scan.Lines();
}

}  // namespace penstock::source
