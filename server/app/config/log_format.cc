#include "server/app/config/log_format.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/posix/fd.h"

namespace penstock::app {
namespace {

// More than any configuration that people write by hand before their section `log`.
constexpr size_t kMostBytes = 256 << 10;

bool HasJsonFormat(absl::string_view line) {
  line = line.substr(0, line.find(" #"));
  const size_t key = line.find("format:");
  if (key == absl::string_view::npos) return false;
  absl::string_view value = absl::StripLeadingAsciiWhitespace(line.substr(key + 7));
  if (!absl::ConsumePrefix(&value, "\"")) absl::ConsumePrefix(&value, "'");
  return absl::ConsumePrefix(&value, "json") && (value.empty() || !absl::ascii_isalnum(value[0]));
}

}  // namespace

bool AsksForJsonLogs(absl::string_view yaml) {
  bool in_section = false;
  for (const absl::string_view line : absl::StrSplit(yaml, '\n')) {
    const bool is_comment = absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#");
    if (line.empty() || is_comment) continue;
    if (!absl::ascii_isspace(line[0])) in_section = absl::StartsWith(line, "log:");
    if (in_section && HasJsonFormat(line)) return true;
  }
  return false;
}

bool FileAsksForJsonLogs(const std::string& path) {
  const absl::StatusOr<posix::Fd> file = posix::OpenRegular(path);
  if (!file.ok()) return false;
  std::string text(kMostBytes, '\0');
  const ssize_t got = ::pread(file->get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return AsksForJsonLogs(text);
}

}  // namespace penstock::app
