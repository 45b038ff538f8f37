// Reading a piece of an open file. Pure but for the file, and for the counts that a program may ask
// for.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::source {

// The reads of a process, for another one that watches whether it gets any further.
struct ReadCounts {
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint32_t> reading{0};  // 1: a read has begun and not ended
};
// From now on, counts this process's reads there. **Requires**: one thread reads, and `counts`
// lives as long as the process.
void CountReads(ReadCounts& counts);

// Reads once, at most a MiB, so that a slow file server has not much to do at a time. Returns 0 at
// the end of the file.
absl::StatusOr<size_t> ReadSome(const posix::Fd& file, const std::string& path, uint64_t offset,
                                std::span<std::byte> into);

// Fills `into` from the offset. **Errors**: DataLoss if the file ends first.
absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into);

// Returns the first `most` bytes of a file of `file_bytes`, or all of it if it is shorter.
absl::StatusOr<std::vector<std::byte>> ReadBeginning(const posix::Fd& file, const std::string& path,
                                                     uint64_t file_bytes, size_t most);

}  // namespace penstock::source
