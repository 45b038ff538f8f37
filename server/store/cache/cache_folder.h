// A folder on a local disk that keeps pieces of objects, also after this process has ended.
//
// For each version of an object there is a file with its bytes at their places, with holes for what
// is not kept, and an index with a record for each piece: its place, and a checksum. Nothing is
// flushed: what the kernel has taken survives the end of this process in any form, and after a loss
// of power the checksums tell what is there.
//
// **Thread safety**: any thread. Calls read and write files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::store {

// Which version of which object: a hash of all that tells them apart.
using ObjectId = std::array<uint64_t, 2>;

class CacheFolder;

// What the folder keeps of one object. **Ownership**: shared by those who read the object; the
// folder outlives it.
class Mirror {
 public:
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Whether the piece is kept, as far as is known without reading it.
  bool Has(uint64_t offset, uint64_t bytes) const;
  // Fills `into`, all of the piece at the offset. False: it is not kept, or damaged, and then no
  // longer kept.
  bool Read(uint64_t offset, std::span<std::byte> into);
  // Keeps a piece, if there is room for it. Pieces either are the same or have no byte in common.
  void Keep(uint64_t offset, std::span<const std::byte> piece);

 private:
  friend class CacheFolder;
  struct Kept {
    uint64_t bytes = 0, checksum = 0;
    bool is_whole = false;  // false: it is being written
  };

  Mirror(CacheFolder& folder, std::string name) : folder_(folder), name_(std::move(name)) {}
  // Reads the index, or begins one.
  absl::Status Load(const ObjectId& id, uint64_t object_bytes);
  bool Write(uint64_t offset, std::span<const std::byte> piece, uint64_t checksum);

  CacheFolder& folder_;
  const std::string name_;
  mutable base::Mutex mutex_;
  absl::flat_hash_map<uint64_t, Kept> kept_ PENSTOCK_GUARDED_BY(mutex_);  // by offset
  // A record was not written whole, so none may follow until the index is read again.
  std::atomic<bool> is_torn_ = false;
};

class CacheFolder {
 public:
  struct Counts {
    uint64_t bytes = 0;    // that the files take, about
    uint64_t found = 0;    // pieces that were read
    uint64_t kept = 0;     // pieces that were written
    uint64_t no_room = 0;  // pieces that were not written, for want of room or because of an error
    uint64_t damaged = 0;  // pieces whose checksum was wrong
    uint64_t removed = 0;  // objects that made room
  };

  // Uses the folder, and makes it if it is not there; nobody else may look into it.
  // **Errors**: FailedPrecondition: another process uses it; those of the file system.
  static absl::StatusOr<std::unique_ptr<CacheFolder>> Open(const std::string& path,
                                                           uint64_t most_bytes);

  // Null if the object's index can neither be read nor made. To make room, files of objects that
  // nobody has a mirror of are removed, those that were opened least recently first; while all are
  // in use, nothing more is kept.
  std::shared_ptr<Mirror> OpenMirror(const ObjectId& id, uint64_t object_bytes);

  Counts counts() const;

 private:
  friend class Mirror;
  CacheFolder(posix::Fd folder, posix::Fd lock, uint64_t most_bytes)
      : folder_(std::move(folder)), lock_(std::move(lock)), most_bytes_(most_bytes) {}

  void CountFiles();
  bool Reserve(uint64_t bytes);
  void GiveBack(uint64_t bytes);
  bool RemoveOldest() PENSTOCK_REQUIRES(mutex_);

  const posix::Fd folder_, lock_;
  const uint64_t most_bytes_;
  mutable base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<Mirror>> mirrors_ PENSTOCK_GUARDED_BY(mutex_);  // by name
  base::TimePoint full_until_ PENSTOCK_GUARDED_BY(mutex_) = {};  // nothing can be removed till then
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::store
