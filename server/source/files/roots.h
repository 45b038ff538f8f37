// Allowed roots: a path may be read if its canonical form lies under one of them. Any thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::source {

// realpath(3). **Errors**: NotFound and PermissionDenied name the path.
absl::StatusOr<std::string> RealPath(const std::string& path);

// Whether canonical `path` is canonical `root` or is below it.
bool IsUnder(absl::string_view path, absl::string_view root);

// The canonical forms of the roots that exist.
std::vector<std::string> CanonicalRoots(const std::vector<std::string>& roots);

// Returns the canonical form of an absolute path, if it lies under one of the roots after all
// symbolic links in the path and in the roots are resolved.
// **Errors**: InvalidArgument if the path is not absolute; PermissionDenied if it contains `..` or
// lies outside of the roots; NotFound if it doesn't exist.
absl::StatusOr<std::string> ResolveUnderRoots(const std::string& path,
                                              const std::vector<std::string>& roots);

}  // namespace penstock::source
