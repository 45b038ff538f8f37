// A folder on a local disk that keeps pieces of objects, also after this process has ended.
//
// For each version of an object there is a file with its bytes at their places, with holes for what
// is not kept, and an index with a record for each piece: its place, and a checksum. Nothing is
// flushed: what the kernel has taken survives the end of this process in any form, and after a loss
// of power the checksums tell what is there.
//
// If the folder is full, objects that nobody has open make room, those that were opened least
// recently first; then pieces that are needed later than the one that needs room (use_calendar.h),
// as far as somebody has said when. What nobody has said anything about stays.
//
// **Thread safety**: any thread. Calls read and write files, but for Has, Expect and NoteUse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/store/cache/mirror_files.h"
#include "server/store/cache/use_calendar.h"

namespace penstock::store {

class CacheFolder;

// When a piece is needed: now, and after that.
struct PieceUses {
  UseTime now = 0, next = kUnknownUse;
};

// What the folder keeps of one object. **Ownership**: shared by those who read the object; the
// folder outlives it.
class Mirror {
 public:
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Whether the piece is kept, as far as is known without reading it.
  bool Has(uint64_t offset, uint64_t bytes) const;
  // The same, and says that the piece will be read soon, so it stays until then, and when it will
  // be needed again.
  bool Expect(uint64_t offset, uint64_t bytes, const PieceUses& uses);
  // Says when the piece, if it is kept, will be needed next.
  void NoteUse(uint64_t offset, UseTime next_use);

  // Fills `into`, all of the piece at the offset. False: it is not kept, or damaged, and then no
  // longer kept.
  bool Read(uint64_t offset, std::span<std::byte> into);
  // The same, and also mends what is wrong with the files, so that a later process finds the piece,
  // too. Says nothing about its use.
  bool Check(uint64_t offset, std::span<std::byte> into);
  // Keeps a piece. Pieces either are the same or have no byte in common. Files that are gone are
  // made anew. **Errors**: ResourceExhausted: the folder is full; those of the file system. They
  // are counted, and the next piece is tried again.
  absl::Status TryKeep(uint64_t offset, std::span<const std::byte> piece);
  // The same, for those who can do without.
  void Keep(uint64_t offset, std::span<const std::byte> piece) {
    TryKeep(offset, piece).IgnoreError();
  }

 private:
  friend class CacheFolder;
  struct Kept {
    uint64_t bytes = 0, checksum = 0;
    UseTime next_use = kUnknownUse;
    bool is_whole = false;  // false: it is being written
  };

  Mirror(CacheFolder& folder, std::string name, const ObjectId& id, uint64_t object_bytes);
  absl::Status Load();
  absl::Status LoadFiles();
  absl::Status MendFiles();
  void ForgetBeyond(uint64_t end);
  bool ReadIntact(uint64_t offset, std::span<std::byte> into);
  absl::Status Write(const KeptPiece& piece, std::span<const std::byte> bytes);
  // Gives the blocks of a piece that is no longer in `kept_` back.
  void Free(uint64_t offset, uint64_t bytes);
  void CompactIfWorthwhile();
  void Compact();

  CacheFolder& folder_;
  const ObjectId id_;
  const uint64_t object_bytes_;
  uint32_t number_ = 0;  // in the calendar; set before anybody else knows this
  // Held while files are written, so before the folder's mutex if both are.
  base::Mutex writing_;
  MirrorFiles files_;  // is read without it
  // Guarded by the folder's mutex, which clang's analysis cannot express.
  absl::btree_map<uint64_t, Kept> kept_;             // by offset
  absl::flat_hash_map<uint64_t, UseTime> expected_;  // the uses after the next one, by offset
};

class CacheFolder {
 public:
  struct Counts {
    uint64_t bytes = 0;    // that the files take, about
    uint64_t found = 0;    // pieces that were read
    uint64_t kept = 0;     // pieces that were written
    uint64_t no_room = 0;  // pieces that were not written, for want of room or because of an error
    uint64_t damaged = 0;  // pieces whose checksum was wrong, or whose file was gone
    uint64_t removed = 0;  // objects that made room
    uint64_t evicted = 0;  // pieces that made room for others, which are needed sooner
  };

  // Uses the folder, and makes it if it is not there; nobody else may look into it. One that is
  // mounted read-only is read, and takes nothing. **Errors**: FailedPrecondition: another process
  // uses it; those of the file system.
  static absl::StatusOr<std::unique_ptr<CacheFolder>> Open(const std::string& path,
                                                           uint64_t most_bytes);

  // What the folder keeps of the object. `url`: for people. `trouble`: why its files can neither be
  // read nor made; that is tried again whenever a piece is to be kept.
  std::shared_ptr<Mirror> OpenMirror(const ObjectId& id, uint64_t object_bytes,
                                     const std::string& url = "", absl::Status* trouble = nullptr);
  // If the folder or its lock was removed, or another one is in its place, uses what is there now,
  // or makes it anew. **Errors**: those of Open; then what was used before stays.
  absl::Status Revive();

  Counts counts() const;

 private:
  friend class Mirror;
  struct Victim {
    std::shared_ptr<Mirror> mirror;
    uint64_t offset = 0, bytes = 0;
  };
  using Victims = std::vector<Victim>;

  struct FolderFiles {
    posix::Fd folder, lock;
  };
  static absl::StatusOr<FolderFiles> OpenFiles(const std::string& path);
  CacheFolder(std::string path, FolderFiles files, uint64_t most_bytes);

  void CountFiles();
  // Puts the piece into the mirror's `kept_`, as one that is being written, with room for it; its
  // victims are no longer kept, and their blocks must be freed. Nullopt: there is no room, or it is
  // there.
  std::optional<Victims> Reserve(Mirror& mirror, const KeptPiece& piece);
  std::optional<Victims> MakeRoom(uint64_t bytes, UseTime next_use) PENSTOCK_REQUIRES(mutex_);
  uint64_t OwnBytes(const Mirror& mirror, uint64_t offset) const PENSTOCK_REQUIRES(mutex_);
  void Erase(Mirror& mirror, uint64_t offset) PENSTOCK_REQUIRES(mutex_);
  void SetUse(Mirror& mirror, uint64_t offset, UseTime next_use) PENSTOCK_REQUIRES(mutex_);
  void NoteTime(const PieceUses& uses) PENSTOCK_REQUIRES(mutex_);
  UseTime Overdue() const PENSTOCK_REQUIRES(mutex_);
  UseTime TakeExpected(Mirror& mirror, uint64_t offset) PENSTOCK_REQUIRES(mutex_);
  bool RemoveOldest(uint64_t for_bytes);

  const std::string path_;
  const posix::Fd folder_, lock_;  // their numbers stay if another folder takes this one's place
  const uint64_t most_bytes_;
  const bool makes_holes_;  // whether the file system gives back parts of files
  base::Mutex reviving_;    // before mutex_
  base::Mutex opening_;     // held while objects are opened or removed, before mutex_
  mutable base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<Mirror>> mirrors_ PENSTOCK_GUARDED_BY(mutex_);  // by name
  absl::flat_hash_map<uint32_t, std::weak_ptr<Mirror>> numbered_ PENSTOCK_GUARDED_BY(mutex_);
  uint32_t numbers_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  UseCalendar calendar_ PENSTOCK_GUARDED_BY(mutex_);
  UseTime now_ PENSTOCK_GUARDED_BY(mutex_) = 0;      // of the latest use that was announced
  UseTime longest_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // from one use to the next
  base::TimePoint look_again_ PENSTOCK_GUARDED_BY(mutex_) = {};  // for objects that nobody has open
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::store
