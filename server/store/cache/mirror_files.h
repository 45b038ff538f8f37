// The two files of one object in the cache's folder (README.md).
// **Thread safety**: any thread; calls that write to the same object one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/store/cache/blocks.h"

namespace penstock::store {

// Which version of which object: a hash of all that tells them apart.
using ObjectId = std::array<uint64_t, 2>;

// A piece, as its record in the index says.
struct KeptPiece {
  uint64_t offset = 0, bytes = 0, checksum = 0;  // bytes 0: it is no longer kept
};
inline constexpr uint64_t kRecordBytes = 32;

inline constexpr char kCacheLock[] = "lock";   // held by the daemon that uses the folder
inline constexpr char kKnownFile[] = "known";  // what stores said last (files/last_known.h)

// A descriptor for a file in the folder; closed to others, and never through a link.
posix::Fd OpenIn(const posix::Fd& folder, const std::string& name, int flags);
// The names without their ending of all objects in the folder.
std::vector<std::string> ObjectsIn(const posix::Fd& folder);
// The bytes that an object's files take, and when it was last opened.
struct RoomTaken {
  uint64_t bytes = 0;
  int64_t used_ns = 0;
};
RoomTaken RoomOf(const posix::Fd& folder, const std::string& object);
// The URL that NoteUrl wrote; empty: none.
std::string ReadUrl(const posix::Fd& folder, const std::string& object);
// Removes the object's files. False: they are still there.
bool RemoveObject(const posix::Fd& folder, const std::string& object);

class MirrorFiles {
 public:
  // **Requires**: the folder outlives this. `name`: without an ending.
  MirrorFiles(const posix::Fd& folder, std::string name)
      : folder_(folder), name_(std::move(name)) {}

  // Opens the files of that object, or begins them: `each` gets the pieces, as their records follow
  // each other. What comes after a record that was not written whole is cut off. On a file system
  // that is mounted read-only, what is there is read.
  absl::Status Load(const ObjectId& id, uint64_t object_bytes,
                    const std::function<void(const KeptPiece&)>& each);
  // Says which object it is, for people. What fails is not there.
  void NoteUrl(const std::string& url) const;
  // Reads the index alone, and changes nothing. False: it is none.
  bool Look(uint64_t& object_bytes, const std::function<void(const KeptPiece&)>& each) const;

  // Fills `into`, all of the piece. False: its bytes are not those of the checksum.
  bool Read(const KeptPiece& piece, std::span<std::byte> into) const;
  // Writes the bytes, then their record, so that no record stands for bytes that nobody wrote.
  // **Errors**: those of the file system, such as that it is full.
  absl::Status Write(const KeptPiece& piece, std::span<const std::byte> bytes);
  // Gives blocks back to the file system. False: they still take room.
  bool Punch(const FileSpan& blocks);
  // Says that the piece is no longer there.
  void NoteGone(uint64_t offset);
  // Writes the index anew, with these pieces alone. False: the old one stays.
  bool Compact(const ObjectId& id, uint64_t object_bytes, const std::vector<KeptPiece>& pieces);
  uint64_t records() const { return records_; }  // in the index

  // How many bytes the data file has; nullopt: it is gone, or is no longer a file.
  std::optional<uint64_t> DataBytes() const;
  // Whether the index is the file that was written here last, and nobody else has changed it.
  bool IsIndexMine() const;

 private:
  // What tells a file that somebody else has changed, or put in its place.
  struct IndexStamp {
    uint64_t inode = 0, bytes = 0;
    int64_t changed_ns = 0;
    bool operator==(const IndexStamp&) const = default;
  };
  static IndexStamp MakeStamp(const posix::Fd& index);

  absl::Status LoadReadOnly(const ObjectId& id, uint64_t object_bytes,
                            const std::function<void(const KeptPiece&)>& each);
  absl::Status Append(const KeptPiece& piece);
  absl::Status MendEnd();

  const posix::Fd& folder_;
  const std::string name_;
  uint64_t records_ = 0;
  IndexStamp stamp_;           // of the index, as it was written here last
  bool is_read_only_ = false;  // so was the file system when they were opened
  // A record was not written whole, so none may follow until it is cut off.
  bool is_torn_ = false;
};

}  // namespace penstock::store
