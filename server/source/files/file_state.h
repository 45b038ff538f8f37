// The state of a file at some moment: enough to notice later that it was replaced or written to.
// Plain values; pure.
//
// The change time (ctime) cannot be set, so replaced content is noticed even if size and mtime were
// restored. The ctime also changes with permissions, owner, name and hard links. Two kinds of
// change go unnoticed: pages written through a shared mapping, until the kernel writes them back;
// and a second change within one tick of the file system's clock. Indexing therefore waits until a
// recent time is older than one tick (listing.h, WaitForTick).
//
// The device number is left out because it may change with the next mount. Where the file system is
// an image, which sets inodes and times itself, the inode depends on the image (mounted_image.h).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

struct FileState {
  uint64_t inode = 0;  // 0 if the file system has no stable inode numbers
  uint64_t bytes = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  bool operator==(const FileState&) const = default;
};

int64_t MtimeOf(const struct stat& stat);
int64_t CtimeOf(const struct stat& stat);
FileState ToFileState(const struct stat& stat);

// A 64-bit hash of the state, never 0.
uint64_t StampOf(const FileState& state);
// The stamp of an entry that has a sample's name but is not a regular file.
inline constexpr uint64_t kNoFile = 0;

// Describes how `now` differs from `before`: "its size was 812 and is 900", "it was replaced by
// another file at TIME", ….
std::string DescribeChange(const FileState& before, const FileState& now);

// The DataLoss status for a file that has changed since it was indexed. Retrying does not help;
// opening the dataset again gets the current content. `how` comes from DescribeChange.
absl::Status Changed(absl::string_view path, absl::string_view how);

// "2026-11-23 04:05:06.789 UTC"
std::string TimeText(int64_t time_ns);

}  // namespace penstock::source
