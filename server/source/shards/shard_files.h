// A dataset's shards, open for reading: some of them at once, however many there are, and only
// while they are what they were when they were indexed. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/files/sha256.h"
#include "server/source/files/tree_file.h"
#include "server/source/images/manifest.h"

namespace penstock::source {

class ShardFiles {
 public:
  // `states`: what the files were when they were indexed, one each.
  ShardFiles(std::vector<TreeFile> files, std::vector<FileState> states);

  // A shard that is what it was a moment ago. Keep it while it is read, so that it stays open.
  // Unavailable: it is gone or cannot be opened; try again. DataLoss: it is another one now
  // (Changed), for good.
  using Handle = std::shared_ptr<const posix::Fd>;
  absl::StatusOr<Handle> Open(size_t shard) const;

  // Reads all of `into`. Unavailable: it cannot be; DataLoss: the shard was changed meanwhile.
  absl::Status Read(const Handle& handle, size_t shard, uint64_t offset,
                    std::span<std::byte> into) const;
  // DataLoss, in words, when the shard is not what it was.
  absl::Status CheckUnchanged(const Handle& handle, size_t shard) const;
  // The content of all shards, for content_digest.h.
  uint64_t content_pieces() const;
  absl::Status AddContent(uint64_t piece, Sha256& sum) const;
  // Whether one was found to be another file than was indexed.
  bool changed() const { return changed_.load(); }
  const FileState& state(size_t shard) const { return states_[shard]; }

  std::string path(size_t shard) const { return files_[shard].path(); }

 private:
  Handle Known(size_t shard) const;
  absl::StatusOr<Handle> OpenAnew(size_t shard) const;
  void Forget(size_t shard) const;
  absl::Status NoteChange(size_t shard, const FileState& now) const;

  const std::vector<TreeFile> files_;
  const std::vector<FileState> states_;
  const size_t most_open_;  // a quarter of the descriptors that this process may have, ≤ 1,024
  mutable std::atomic<bool> changed_{false};
  mutable base::Mutex mutex_;
  // With those who read; null: not open.
  mutable std::vector<Handle> open_ PENSTOCK_GUARDED_BY(mutex_);
  // The open ones, oldest first: with shards read in any order as good as the least recently used.
  mutable std::deque<size_t> opened_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::source
