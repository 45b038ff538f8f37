#include "server/source/files/roots.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock::source {
namespace {

absl::Status CheckSpelling(const std::string& path) {
  if (path.empty() || path[0] != '/')
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is not an absolute path; write it from the root, like /data/x"));
  if (path.find('\0') != std::string::npos)
    return absl::InvalidArgumentError("a path contains a NUL byte; give a path without one");
  for (absl::string_view part : absl::StrSplit(path, '/'))
    if (part == "..")
      return absl::PermissionDeniedError(
          absl::StrCat("'", path, "' has a '..'; write the path without it"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr)
    return base::ErrnoStatus(errno, absl::StrCat("'", path, "'"),
                             errno == ELOOP ? "a link in it leads back to itself: remove it" : "");
  return std::string(real.get());
}

bool IsUnder(absl::string_view path, absl::string_view root) {
  if (root == "/") return !path.empty() && path[0] == '/';
  if (path.substr(0, root.size()) != root) return false;
  return path.size() == root.size() || path[root.size()] == '/';
}

std::vector<std::string> CanonicalRoots(const std::vector<std::string>& roots) {
  std::vector<std::string> canonical;
  for (const std::string& root : roots)
    if (auto real = RealPath(root); real.ok()) canonical.push_back(*std::move(real));
  return canonical;
}

absl::StatusOr<std::string> ResolveUnderRoots(const std::string& path,
                                              const std::vector<std::string>& roots) {
  PENSTOCK_RETURN_IF_ERROR(CheckSpelling(path));
  PENSTOCK_ASSIGN_OR_RETURN(std::string real, RealPath(path));
  const std::vector<std::string> canonical = CanonicalRoots(roots);
  const bool allowed = std::any_of(canonical.begin(), canonical.end(),
                                   [&](const std::string& root) { return IsUnder(real, root); });
  if (allowed) return real;
  const std::string leads = real == path ? "" : absl::StrCat(" (which is '", real, "')");
  return absl::PermissionDeniedError(
      absl::StrCat("'", path, "'", leads, " lies outside of the allowed roots: ",
                   roots.empty() ? "there are none" : absl::StrJoin(roots, ", "),
                   "; move the data there, or add its folder to source.roots"));
}

}  // namespace penstock::source
