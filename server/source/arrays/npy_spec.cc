#include "server/source/arrays/npy_spec.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/source/core/row_layout.h"
#include "server/source/files/remote_file.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kNpyPrefix = "npy:";

bool IsTensorName(const std::string& name) {
  const bool spelled = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
  });
  return spelled && !name.empty() && name.size() <= kLongestNpyName;
}

}  // namespace

absl::Status Validate(const NpySpec& spec) {
  if (spec.arrays.empty())
    return absl::InvalidArgumentError("npy arrays: wanted at least one, got none");
  if (spec.arrays.size() > kMaxTensors)
    return absl::InvalidArgumentError(
        absl::StrCat("npy arrays: wanted ", kMaxTensors, " at most, got ", spec.arrays.size()));
  if (spec.arrays.size() == 1 && spec.arrays[0].name.empty()) return absl::OkStatus();
  std::set<std::string> names;
  for (const NpyArray& array : spec.arrays) {
    if (!IsTensorName(array.name))
      return absl::InvalidArgumentError(
          absl::StrCat("npy arrays: wanted a name of 1 to ", kLongestNpyName,
                       " of A-Z a-z 0-9 _ . -, got '", array.name, "'"));
    if (!names.insert(array.name).second)
      return absl::InvalidArgumentError(
          absl::StrCat("npy arrays: got the name '", array.name, "' twice, wanted it once"));
  }
  return absl::OkStatus();
}

bool IsNpyText(absl::string_view text) { return absl::StartsWith(text, kNpyPrefix); }

absl::StatusOr<NpySpec> ParseNpyText(absl::string_view text) {
  absl::string_view rest = text;
  absl::ConsumePrefix(&rest, kNpyPrefix);
  NpySpec spec;
  for (const absl::string_view part : absl::StrSplit(rest, ',')) {
    const std::pair<std::string, std::string> array = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!IsNpyText(text) || array.first.empty() ||
        (!absl::StartsWith(array.second, "/") && !IsRemotePath(array.second)))
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text, "': '", part,
          "' is not understood; wanted npy:NAME=/FILE.npy,NAME=/FILE.npy,…, or URLs of the files"));
    spec.arrays.push_back({.name = array.first, .file = array.second});
  }
  PENSTOCK_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

std::string ToString(const NpySpec& spec) {
  return absl::StrCat(kNpyPrefix,
                      absl::StrJoin(spec.arrays, ",", [](std::string* out, const NpyArray& array) {
                        absl::StrAppend(out, array.name, "=", array.file);
                      }));
}

}  // namespace penstock::source
