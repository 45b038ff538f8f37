// Files of our own in the state directory: written beside their place, synced, then renamed, so
// that a reader sees the old bytes or the new, never half. Any thread, one at a time per file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/base/status.h"

namespace penstock::source {

// Makes the folder (mode 0700), and those above it, where missing.
absl::Status MakeFolders(const std::string& folder);

// Replaces `path` by a file (mode 0600) of these bytes. On an error what was there is untouched.
absl::Status WriteStateFile(const std::string& path, std::span<const std::byte> bytes);

// The whole file. NotFound when there is none; ResourceExhausted when it has more than max_bytes.
absl::StatusOr<std::string> ReadStateFile(const std::string& path, size_t max_bytes);

}  // namespace penstock::source
