// Which paths may be read: those whose canonical form lies under an allowed root. Any thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::source {

// realpath(3). NotFound and PermissionDenied name the path.
absl::StatusOr<std::string> RealPath(const std::string& path);

// Whether canonical `path` is canonical `root` or lies beneath it.
bool IsUnder(absl::string_view path, absl::string_view root);

// The canonical forms of those roots that exist.
std::vector<std::string> CanonicalRoots(const std::vector<std::string>& roots);

// The canonical form of an absolute path, if it lies under one of the roots once every symbolic
// link, of the path and of the roots, is followed. InvalidArgument: not an absolute path;
// PermissionDenied: it has a `..` or lies elsewhere; NotFound: it is not there.
absl::StatusOr<std::string> ResolveUnderRoots(const std::string& path,
                                              const std::vector<std::string>& roots);

}  // namespace penstock::source
