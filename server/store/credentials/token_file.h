// Tokens in files, which others replace while we run.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::store {

// The file's text, at most 64 KiB, without blanks at its end. **Errors**: Unavailable if it cannot
// be read, because it may be being replaced; FailedPrecondition if it is empty, too large, or holds
// a line's end or another control character. Names the file.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

// Whether the text can be the value of a header.
bool IsHeaderValue(const std::string& text);

}  // namespace penstock::store
