#include "server/store/credentials/key_answers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace penstock::store {
namespace {

// Reads a flat object from the front to the end.
class FlatJson {
 public:
  explicit FlatJson(absl::string_view text) : rest_(text) {}

  bool Read(std::map<std::string, std::string>& members) {
    if (!Take('{')) return false;
    if (Take('}')) return AtEnd();
    do {
      std::string name, value;
      bool is_null = false;
      if (!ReadText(name) || !Take(':') || !ReadValue(value, is_null)) return false;
      if (!is_null && !members.emplace(std::move(name), std::move(value)).second) return false;
    } while (Take(','));
    return Take('}') && AtEnd();
  }

 private:
  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }
  bool Take(char what) {
    SkipBlanks();
    if (rest_.empty() || rest_[0] != what) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool ReadValue(std::string& value, bool& is_null) {
    SkipBlanks();
    if (!rest_.empty() && rest_[0] == '"') return ReadText(value);
    size_t size = 0;
    while (size < rest_.size() && (absl::ascii_isalnum(rest_[size]) || rest_[size] == '-' ||
                                   rest_[size] == '+' || rest_[size] == '.'))
      ++size;
    value = std::string(rest_.substr(0, size));
    rest_.remove_prefix(size);
    is_null = value == "null";
    double number = 0;
    return is_null || value == "true" || value == "false" || absl::SimpleAtod(value, &number);
  }

  bool ReadText(std::string& text) {
    if (!Take('"')) return false;
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (absl::ascii_iscntrl(c)) return false;
      if (c != '\\')
        text.push_back(c);
      else if (!ReadEscape(text))
        return false;
    }
    return false;
  }

  // Of \u only ASCII: keys have nothing else.
  bool ReadEscape(std::string& text) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    constexpr absl::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t at = kNames.find(c); at != absl::string_view::npos) {
      text.push_back(kMeanings[at]);
      return true;
    }
    uint32_t code = 0;
    if (c != 'u' || rest_.size() < 4 || !absl::SimpleHexAtoi(rest_.substr(0, 4), &code) ||
        code > 0x7f)
      return false;
    text.push_back(static_cast<char>(code));
    rest_.remove_prefix(4);
    return true;
  }

  absl::string_view rest_;
};

std::string Member(const std::map<std::string, std::string>& members, const char* name) {
  const auto found = members.find(name);
  return found == members.end() ? "" : found->second;
}

bool IsKeyText(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c); });
}

absl::StatusOr<SharedKeys> CheckedKeys(StoreKeys keys, absl::string_view end,
                                       absl::string_view from) {
  if (keys.key_id.empty() || keys.secret.empty())
    return absl::DataLossError(absl::StrCat(from, ": the answer holds no keys"));
  PENSTOCK_RETURN_IF_ERROR(CheckKeyTexts(keys, from));
  if (!end.empty()) {
    keys.end = ReadIsoTime(end);
    if (!keys.end)
      return absl::DataLossError(absl::StrCat(from, ": unexpected time of the keys' end: '",
                                              absl::CHexEscape(end.substr(0, 40)), "'"));
  }
  return std::make_shared<const StoreKeys>(std::move(keys));
}

}  // namespace

absl::Status CheckKeyTexts(const StoreKeys& keys, absl::string_view from) {
  if (IsKeyText(keys.key_id) && IsKeyText(keys.secret) && IsKeyText(keys.token))
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(from, ": the keys hold characters of no key, perhaps blanks or a line's end"));
}

absl::StatusOr<std::map<std::string, std::string>> ReadFlatJson(absl::string_view text) {
  std::map<std::string, std::string> members;
  if (FlatJson(text).Read(members)) return members;
  return absl::DataLossError("the answer is not a JSON object of texts and numbers");
}

std::optional<std::chrono::system_clock::time_point> ReadIsoTime(absl::string_view text) {
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) return std::nullopt;
  return absl::ToChronoTime(time);
}

absl::StatusOr<SharedKeys> ReadJsonKeys(absl::string_view text, absl::string_view from) {
  const absl::StatusOr<std::map<std::string, std::string>> members = ReadFlatJson(text);
  if (!members.ok()) return base::Annotate(members.status(), from);
  if (const std::string code = Member(*members, "Code"); !code.empty() && code != "Success")
    return absl::UnavailableError(
        absl::StrCat(from, ": no keys: ", absl::CHexEscape(code.substr(0, 80))));
  return CheckedKeys({.key_id = Member(*members, "AccessKeyId"),
                      .secret = Member(*members, "SecretAccessKey"),
                      .token = Member(*members, "Token")},
                     Member(*members, "Expiration"), from);
}

absl::StatusOr<SharedKeys> ReadStsKeys(absl::string_view xml, absl::string_view from) {
  return CheckedKeys({.key_id = XmlText(xml, "AccessKeyId"),
                      .secret = XmlText(xml, "SecretAccessKey"),
                      .token = XmlText(xml, "SessionToken")},
                     XmlText(xml, "Expiration"), from);
}

std::string XmlText(absl::string_view xml, absl::string_view name) {
  const std::string open = absl::StrCat("<", name, ">"), close = absl::StrCat("</", name, ">");
  const size_t begin = xml.find(open);
  if (begin == absl::string_view::npos) return "";
  xml.remove_prefix(begin + open.size());
  const size_t end = xml.find(close);
  if (end == absl::string_view::npos) return "";
  return absl::StrReplaceAll(
      absl::StripAsciiWhitespace(xml.substr(0, end)),
      {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}});
}

}  // namespace penstock::store
