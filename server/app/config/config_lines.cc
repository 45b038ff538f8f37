#include "server/app/config/config_lines.h"

namespace penstock::app {

absl::Status ConfigLines::Refuse(const std::string& key, absl::string_view why) const {
  std::string at = key;
  while (!at.empty() && !lines_.contains(at)) {
    const size_t end = at.find_last_of(".[");
    at.resize(end == std::string::npos ? 0 : end);
  }
  const auto line = lines_.find(at);
  return RefuseAt(line == lines_.end() ? kNoLine : line->second, absl::StrCat(key, ": ", why));
}

absl::Status ConfigLines::RefuseAt(int line, absl::string_view what) const {
  const std::string place = line == kNoLine ? filename_ : absl::StrCat(filename_, ":", line);
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

}  // namespace penstock::app
