// Compresses a page as RFC 1952 says. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::status {

// Fast rather than small: about a tenth of a page of metrics.
std::string Gzip(absl::string_view text);

}  // namespace penstock::status
