#include "server/app/config/config_checker.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/base/units.h"
#include "common/posix/tcp.h"

namespace penstock::app {
namespace {

constexpr size_t kLongestName = 128;

std::string Bytes(uint64_t bytes) { return base::FormatBytes(bytes); }

std::string Time(uint64_t ms) { return base::FormatMilliseconds(ms); }

std::string Count(uint64_t count) { return absl::StrCat(count); }

}  // namespace

void ConfigChecker::Refuse(const std::string& key, absl::string_view got,
                           absl::string_view wanted) {
  if (status_.ok()) status_ = lines_.Refuse(key, absl::StrCat("got ", got, ", wanted ", wanted));
}

void ConfigChecker::RefuseWith(const std::string& key, const absl::Status& why) {
  if (status_.ok()) status_ = lines_.Refuse(key, why.message());
}

void ConfigChecker::InRange(const std::string& key, uint64_t value, Bounds bounds,
                            std::string (*show)(uint64_t)) {
  if (value < bounds.least || value > bounds.most)
    Refuse(key, show(value), absl::StrCat(show(bounds.least), " to ", show(bounds.most)));
}

void ConfigChecker::IsCount(const std::string& key, uint64_t value, Bounds bounds) {
  InRange(key, value, bounds, Count);
}

void ConfigChecker::IsTime(const std::string& key, uint64_t ms, Bounds bounds) {
  InRange(key, ms, bounds, Time);
}

void ConfigChecker::IsSize(const std::string& key, uint64_t bytes, Bounds bounds) {
  InRange(key, bytes, bounds, Bytes);
}

void ConfigChecker::IsShare(const std::string& key, double share) {
  if (!(share > 0 && share <= 1))
    Refuse(key, absl::StrCat(share * 100, "%"), "more than 0%, at most 100%");
}

void ConfigChecker::IsPath(const std::string& key, const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  const bool climbs = std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (path.empty() || path[0] != '/' || climbs)
    Refuse(key, Quoted(path), "an absolute path without '..', like /data/photos");
}

void ConfigChecker::IsAddress(const std::string& key, const std::string& address) {
  if (address.empty()) return;
  if (const absl::Status wrong = posix::ParseTcpAddress(address).status(); !wrong.ok())
    RefuseWith(key, wrong);
}

void ConfigChecker::IsName(const std::string& key, const std::string& name) {
  const bool spelled = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > kLongestName || name[0] == '.' || name[0] == '-' || !spelled)
    Refuse(key, Quoted(name),
           "1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter, a digit or _");
}

std::string ConfigChecker::Quoted(const std::string& text) {
  return text.empty() ? "nothing" : absl::StrCat("'", text, "'");
}

}  // namespace penstock::app
