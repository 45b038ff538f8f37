#include "client/ctl/scripting/yaml.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace penstock::ctl {
namespace {

using JsonValue = nlohmann::ordered_json;

// Whether YAML reads this text as itself without quotes: it begins with a letter or '/', has only
// characters that mean nothing, and is no word that some YAML version reads as another type.
bool IsPlain(const std::string& text) {
  if (text.empty() || !(std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/'))
    return false;
  if (!std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-' || c == '/' || c == '.';
      }))
    return false;
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr const char* kOtherTypes[] = {"true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n"};
  return std::find(std::begin(kOtherTypes), std::end(kOtherTypes), lower) == std::end(kOtherTypes);
}

// JSON's quoted texts are YAML's. All characters beyond ASCII are escaped.
std::string Scalar(const JsonValue& value) {
  if (value.is_string() && IsPlain(value.get_ref<const std::string&>()))
    return value.get<std::string>();
  if (value.is_object()) return "{}";
  if (value.is_array()) return "[]";
  return value.dump(-1, ' ', true, JsonValue::error_handler_t::replace);
}

bool IsBlock(const JsonValue& value) { return value.is_structured() && !value.empty(); }

void Write(const JsonValue& value, const std::string& indent, std::string& out);

void WriteMap(const JsonValue& map, const std::string& indent, std::string& out) {
  std::string margin;  // the first member continues its list's line
  for (const auto& [name, member] : map.items()) {
    absl::StrAppend(&out, margin, Scalar(name), ":");
    margin = indent;
    if (!IsBlock(member)) {
      absl::StrAppend(&out, " ", Scalar(member), "\n");
      continue;
    }
    const std::string below = member.is_array() ? indent : indent + "  ";
    absl::StrAppend(&out, "\n", below);
    Write(member, below, out);
  }
}

void Write(const JsonValue& value, const std::string& indent, std::string& out) {
  if (!IsBlock(value)) {
    absl::StrAppend(&out, Scalar(value), "\n");
  } else if (value.is_object()) {
    WriteMap(value, indent, out);
  } else {
    std::string margin;
    for (const JsonValue& item : value) {
      absl::StrAppend(&out, margin, "- ");
      margin = indent;
      Write(item, indent + "  ", out);
    }
  }
}

}  // namespace

std::string ToYaml(const std::string& json) {
  std::string out;
  Write(JsonValue::parse(json), "", out);
  return out;
}

std::string ForPrograms(Output output, const std::string& json) {
  return output == Output::kYaml ? ToYaml(json) : json;
}

}  // namespace penstock::ctl
