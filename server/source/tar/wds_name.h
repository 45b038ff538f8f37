// What a member's name says in WebDataset's format: which sample it is of, and what of it. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::source {

struct WdsName {
  std::string key;        // up to the first dot behind the last slash
  std::string extension;  // behind that dot, in lower case, as webdataset has it
};

// Nothing for members that are no sample's: hidden files, those without an extension, and
// webdataset's own notes (__name__ at the top).
std::optional<WdsName> SplitWdsName(absl::string_view member);

}  // namespace penstock::source
