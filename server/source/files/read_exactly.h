// Reading a piece of an open file. Pure but for the file.
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::source {

// Fills `into` from the offset. **Errors**: DataLoss if the file ends first.
absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into);

// Returns the first `most` bytes of a file of `file_bytes`, or all of it if it is shorter.
absl::StatusOr<std::vector<std::byte>> ReadBeginning(const posix::Fd& file, const std::string& path,
                                                     uint64_t file_bytes, size_t most);

}  // namespace penstock::source
