#include "server/app/config/config_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace penstock::app {
namespace {

bool IsKey(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
  });
}

}  // namespace

std::string ConfigLines::PlaceOf(std::string key) const {
  while (!key.empty() && !lines_.contains(key)) {
    const size_t end = key.find_last_of(".[");
    key.resize(end == std::string::npos ? 0 : end);
  }
  const auto line = lines_.find(key);
  return line == lines_.end() ? filename_ : absl::StrCat(filename_, ":", line->second);
}

absl::Status ConfigLines::Refuse(const std::string& key, absl::string_view why) const {
  return absl::InvalidArgumentError(absl::StrCat(PlaceOf(key), ": ", key, ": ", why));
}

absl::Status ConfigLines::RefuseAt(int line, absl::string_view what) const {
  const std::string place = line == kNoLine ? filename_ : absl::StrCat(filename_, ":", line);
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

absl::Status ConfigLines::Locate(const absl::Status& why) const {
  if (why.ok() || filename_.empty()) return why;
  const absl::string_view message = why.message();
  const std::string key(message.substr(0, message.find(": ")));
  const std::string place = IsKey(key) ? PlaceOf(key) : filename_;
  return absl::Status(why.code(), absl::StrCat(place, ": ", message));
}

}  // namespace penstock::app
