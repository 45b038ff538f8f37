#include "server/source/tar/wds_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace penstock::source {
namespace {

// webdataset skips names that match "__[^/]*__($|/)" at their start.
bool IsNote(absl::string_view member) {
  const absl::string_view first = member.substr(0, member.find('/'));
  return first.size() >= 4 && absl::StartsWith(first, "__") && absl::EndsWith(first, "__");
}

}  // namespace

std::optional<WdsName> SplitWdsName(absl::string_view member) {
  const size_t slash = member.rfind('/');
  const size_t begin = slash == absl::string_view::npos ? 0 : slash + 1;
  const size_t dot = member.find('.', begin);
  if (dot == absl::string_view::npos || dot == begin || IsNote(member)) return std::nullopt;
  return WdsName{std::string(member.substr(0, dot)), absl::AsciiStrToLower(member.substr(dot + 1))};
}

}  // namespace penstock::source
