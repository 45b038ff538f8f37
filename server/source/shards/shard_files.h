// A dataset's shards, opened for reading. Limits how many are open at once, and hands out only
// shards that are unchanged since they were indexed.
// **Thread safety**: any thread.
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
  // `states`: each file's state when it was indexed.
  ShardFiles(std::vector<TreeFile> files, std::vector<FileState> states);

  // Returns an open shard that was unchanged a moment ago. It stays open as long as the handle
  // exists.
  // **Errors**: Unavailable if it is missing or cannot be opened; retry. DataLoss (Changed) if it
  // changed; permanent.
  using Handle = std::shared_ptr<const posix::Fd>;
  absl::StatusOr<Handle> Open(size_t shard) const;

  // Fills `into` from the offset within a piece of the shard, which is a member or a record: a
  // remote shard is read a piece at a time. **Errors**: Unavailable if reading fails; DataLoss if
  // the shard changed meanwhile.
  absl::Status Read(const Handle& handle, size_t shard, const RemotePiece& piece, uint64_t from,
                    std::span<std::byte> into) const;
  // **Errors**: DataLoss, with the difference, if the shard has changed.
  absl::Status CheckUnchanged(const Handle& handle, size_t shard) const;
  // The content of all shards, for content_digest.h.
  uint64_t content_pieces() const;
  absl::Status AddContent(uint64_t piece, Sha256& sum) const;
  // Whether a shard was found to have changed since it was indexed.
  bool changed() const { return changed_.load(); }
  const FileState& state(size_t shard) const { return states_[shard]; }

  std::string path(size_t shard) const { return files_[shard].path(); }
  bool are_remote() const { return !files_.empty() && files_.front().remote != nullptr; }
  // Null: the shard is a local file.
  const RemoteFile* remote(size_t shard) const { return files_[shard].remote.get(); }

 private:
  Handle Known(size_t shard) const;
  absl::StatusOr<Handle> OpenAnew(size_t shard) const;
  void Forget(size_t shard) const;
  absl::Status ReadRemote(size_t shard, const RemotePiece& piece, uint64_t from,
                          std::span<std::byte> into) const;
  absl::Status NoteChange(size_t shard, const FileState& now) const;

  const std::vector<TreeFile> files_;
  const std::vector<FileState> states_;
  const size_t most_open_;  // a quarter of this process's descriptor limit, at most 1,024
  mutable std::atomic<bool> changed_{false};
  mutable base::Mutex mutex_;
  // Shared with readers; null: not open.
  mutable std::vector<Handle> open_ PENSTOCK_GUARDED_BY(mutex_);
  // Open shards, oldest first. For shards in random order, evicting the oldest works as well as
  // LRU.
  mutable std::deque<size_t> opened_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::source
