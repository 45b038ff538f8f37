// The completion scripts of `completions/`, which are compiled in for `penstockctl completion`.
// They ask the daemon for dataset names, if it answers within 2 s.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::ctl {

// **Requires**: `shell` is one of kShells.
absl::string_view Completion(absl::string_view shell);

}  // namespace penstock::ctl
