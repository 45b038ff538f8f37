// Keeps checkpoints across restarts, in one file for each dataset and user. A thread of its own
// reads the file of a dataset that is opened, and writes blocks that have changed; it alone waits
// for the storage.
//
// **Thread safety**: one thread. The destructor writes what has changed, and waits for the storage
// (server/app/end_limit.h).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/checkpoints/store.h"

namespace penstock::checkpoints {

class CheckpointFiles {
 public:
  struct Options {
    std::string folder;  // created if it is missing
    base::Duration write_every = std::chrono::seconds(30);
    uint64_t keep_free = uint64_t{1} << 30;  // bytes of the file system that are left free
    bool even_in_memory = false;             // also on a tmpfs, for tests
  };
  CheckpointFiles(std::shared_ptr<CheckpointStore> store, Options options);
  ~CheckpointFiles();

 private:
  void Serve();
  absl::Status Prepare();
  void Read(const ShelfPlace& place);
  void WriteChanged();
  absl::Status LookForSpace() const;
  absl::Status Write(const CheckpointStore::BlockCopy& block);
  // The file of a shelf, begun anew unless it is one.
  absl::StatusOr<posix::Fd> OpenFor(const ShelfPlace& place);
  std::string PathOf(const ShelfPlace& place) const;
  void RemoveOldest();
  void Say(const absl::Status& trouble);

  const std::shared_ptr<CheckpointStore> store_;
  const Options options_;
  std::set<std::string> in_use_;  // paths
  std::string open_path_;         // of open_, for several blocks of one file
  posix::Fd open_;
  std::string said_;  // the trouble that was logged last; empty: none
  std::thread thread_;
};

}  // namespace penstock::checkpoints
