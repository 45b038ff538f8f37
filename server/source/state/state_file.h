// Files of our own in the state directory: written beside their place, synced, then renamed, so
// that a reader sees the old bytes or the new, never half. Any thread, one at a time per file.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/posix/memory.h"

namespace penstock::source {

// Called between steps, each of which may wait for storage.
using Step = std::function<void()>;

// Makes the folder (mode 0700), and those above it, where missing.
absl::Status MakeFolders(const std::string& folder);

// Replaces `path` by a file (mode 0600) of these bytes. On an error what was there is untouched.
absl::Status WriteStateFile(
    const std::string& path, std::span<const std::byte> bytes, const Step& step = [] {});

// The whole file. NotFound when there is none; ResourceExhausted when it has more than max_bytes.
absl::StatusOr<std::string> ReadStateFile(
    const std::string& path, size_t max_bytes, const Step& step = [] {});

// The whole file, in memory of ours: not mapped, because whoever uses it may not wait for storage,
// which a page that is not there yet would mean. NotFound when there is none; DataLoss when it has
// fewer bytes.
absl::StatusOr<posix::Mapping> ReadStateMemory(
    const std::string& path, size_t min_bytes, const Step& step = [] {});

}  // namespace penstock::source
