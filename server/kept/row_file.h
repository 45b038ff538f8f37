// A file of rows of one size, without a name: whatever happens to the daemon, nothing of it is
// left. The disk gets a row's blocks back when the last user of the row lets go of it, and all
// others' when the last one of the file does; both may wait for the storage.
//
// **Thread safety**: any thread. **Ownership**: shared by the rows in it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/kept/kept_row.h"

namespace penstock::kept {

class RowFile : public std::enable_shared_from_this<RowFile> {
 public:
  // Made with the first row. `row_bytes`: of all rows.
  RowFile(std::string folder, uint64_t row_bytes)
      : folder_(std::move(folder)), row_bytes_(row_bytes) {}

  // What a row of so many bytes takes of a disk: whole blocks, so that it can be given back.
  static uint64_t RoomOf(uint64_t row_bytes);
  // Whether a file could be made in this folder now. May wait for the storage.
  static absl::Status Check(const std::string& folder);

  // Writes the row to a free place. One thread at a time; may wait for the storage. **Errors**: the
  // folder cannot be used, the disk is full, or fails; InvalidArgument for a row of another size.
  absl::StatusOr<std::shared_ptr<const KeptRow>> Write(const MemoryRow& row);

  // The file goes as a whole, soon, so nothing is given back for a single row any more.
  void GiveUp() { is_given_up_ = true; }

 private:
  class FolderRow;
  static absl::StatusOr<posix::Fd> Make(const std::string& folder);
  absl::Status Open();
  uint64_t TakePlace();
  off_t OffsetOf(uint64_t place) const;
  void FreePlace(uint64_t place);
  void GrowFor(off_t end);

  const std::string folder_;
  posix::Fd file_;  // constant once there is a row
  const uint64_t row_bytes_;
  std::atomic<bool> is_given_up_ = false;
  off_t size_ = 0;  // of the file, for the thread that writes
  base::Mutex mutex_;
  uint64_t end_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // places in use or free
  std::vector<uint64_t> free_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::kept
