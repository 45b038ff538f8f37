// The error that every rule for a request gives. Private to this folder.
#pragma once

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace penstock::session {

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

}  // namespace penstock::session
