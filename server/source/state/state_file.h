// Our files in the state directory. Each is written to a temporary name, synced, then renamed, so
// that a reader sees either the old bytes or the new ones.
// **Thread safety**: any thread, but one at a time for each file.
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

// Creates the folder and any missing parents (mode 0700).
absl::Status MakeFolders(const std::string& folder);

// Replaces `path` by a file (mode 0600) with these bytes. On an error the old file is untouched.
// Writing and reading also remove files that killed processes left beside this one.
absl::Status WriteStateFile(
    const std::string& path, std::span<const std::byte> bytes, const Step& step = [] {});

// Reads the whole file. **Errors**: NotFound if there is none; ResourceExhausted if it is larger
// than max_bytes.
absl::StatusOr<std::string> ReadStateFile(
    const std::string& path, size_t max_bytes, const Step& step = [] {});

// Reads the whole file into memory. It is not mapped, because a page fault would make the user of
// the memory wait for storage.
// **Errors**: NotFound if there is none; DataLoss if it is shorter than expected.
absl::StatusOr<posix::Mapping> ReadStateMemory(
    const std::string& path, size_t min_bytes, const Step& step = [] {});

}  // namespace penstock::source
