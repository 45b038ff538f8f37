// Parses lists of names: the samples of a split, or classes. The caller may not trust them. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/annotated/names_format.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::source {

// The names, as the paths of a list's rows.
// **Errors**: InvalidArgument with the path and the line.
absl::StatusOr<ScannedList> ScanNames(absl::string_view text, NamesFormat format,
                                      const std::string& path);

}  // namespace penstock::source
