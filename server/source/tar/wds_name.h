// Splits a member's name as WebDataset does: into the key of its sample and the extension. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::source {

struct WdsName {
  std::string key;        // up to the first dot after the last slash
  std::string extension;  // after that dot, in lower case, as in webdataset
};

// Nullopt for members that belong to no sample: hidden files, names without an extension, and
// webdataset's metadata (__name__ at the top level).
std::optional<WdsName> SplitWdsName(absl::string_view member);

}  // namespace penstock::source
