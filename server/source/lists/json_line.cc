#include "server/source/lists/json_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

using nlohmann::json;

// Collects the members of the outermost object. A nested value is one text, whatever is in it.
class Members final : public nlohmann::json_sax<json> {
 public:
  explicit Members(std::vector<JsonMember>& members) : members_(members) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return Put("null", true); }
  bool boolean(bool value) override { return Put(value ? "true" : "false", true); }
  bool number_integer(json::number_integer_t value) override {
    return Put(absl::StrCat(value), false);
  }
  bool number_unsigned(json::number_unsigned_t value) override {
    return Put(absl::StrCat(value), false);
  }
  bool number_float(json::number_float_t, const std::string& text) override {
    return Put(text, false);
  }
  bool string(std::string& value) override { return Put(std::move(value), true); }
  bool binary(json::binary_t&) override { return Refuse("it holds binary data"); }
  bool start_object(std::size_t) override { return Begin("{…}"); }
  bool end_object() override { return End(); }
  bool start_array(std::size_t) override { return Begin("[…]"); }
  bool end_array() override { return End(); }
  bool key(std::string& name) override {
    if (depth_ > 1) return true;
    const bool twice = std::any_of(members_.begin(), members_.end(),
                                   [&](const JsonMember& member) { return member.key == name; });
    if (twice) return Refuse(absl::StrCat("it has the key '", EscapeForDisplay(name), "' twice"));
    members_.push_back({.key = std::move(name), .value = {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Refuse(absl::StrCat("it is no JSON at its byte ", position));
  }

 private:
  // The grammar allows nesting without end; nothing here recurses.
  bool Begin(const char* shown) {
    if (depth_ == 0 && shown[0] != '{') return Refuse("it is an array");
    if (depth_ == 1) members_.back().value = {.text = shown, .is_text = true};
    ++depth_;
    return true;
  }
  bool End() {
    --depth_;
    return true;
  }
  bool Put(std::string text, bool is_text) {
    if (depth_ == 0) return Refuse("it is a single value");
    if (depth_ == 1) members_.back().value = {.text = std::move(text), .is_text = is_text};
    return true;
  }
  bool Refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  std::vector<JsonMember>& members_;
  std::string problem_;
  size_t depth_ = 0;
};

}  // namespace

absl::Status ReadJsonLine(absl::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  Members collect(members);
  const bool read = json::sax_parse(line.begin(), line.end(), &collect);
  if (read && collect.problem().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the line is not understood: ", collect.problem(),
                   "; wanted one JSON object per line, like {\"path\": \"a.jpg\", \"label\": 3}"));
}

}  // namespace penstock::source
