// What a file was when somebody looked at it: enough to notice that it is another file now, or that
// somebody wrote to it. Plain values; pure.
//
// The time of the last change (ctime) cannot be set, so that content which was replaced is noticed
// although its size is the same and its mtime was put back. It also changes with permissions,
// owner, name and hard links. What stays unnoticed: pages that a process writes through a shared
// mapping, until the kernel writes them back; and a second change within one tick of the file
// system's clock, which is why indexing waits until a fresh time is older than that (listing.h,
// WaitForTick).
//
// A device's number is no part of it: it may be another one after the next mount.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

struct FileState {
  uint64_t inode = 0;  // 0 where the file system does not keep such numbers
  uint64_t bytes = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  bool operator==(const FileState&) const = default;
};

int64_t MtimeOf(const struct stat& stat);
int64_t CtimeOf(const struct stat& stat);
FileState StateOf(const struct stat& stat);

// 64 bits of a state, never 0.
uint64_t StampOf(const FileState& state);

// "its size was 812 and is 900", "it was replaced by another file at TIME", …: how `now` differs
// from `before`.
std::string DescribeChange(const FileState& before, const FileState& now);

// DataLoss: the file is not the one that was indexed. It stays so: do not try again; whoever opens
// the dataset anew gets what is there now. `how`: as DescribeChange says it.
absl::Status Changed(absl::string_view path, absl::string_view how);

// "2026-11-23 04:05:06.789 UTC"
std::string TimeText(int64_t time_ns);

}  // namespace penstock::source
