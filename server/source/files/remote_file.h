// Files in object stores, as datasets see them. Whoever opens a dataset passes them in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/files/byte_source.h"
#include "server/source/files/file_state.h"
#include "server/source/files/use_times.h"

namespace penstock::source {

// A part of a file.
struct RemotePiece {
  uint64_t offset = 0, bytes = 0;
};

// Reads a file once, from its beginning to its end and with gaps, as an indexer does: a few bytes
// at a time, each place behind the one before. **Thread safety**: one thread. **Ownership**: of the
// reader; the file outlives it.
class RemotePass : public ByteSource {
 public:
  // Names a piece that ReadPiece will read later. It lies behind what was read before. What passes
  // by of it is kept where the file keeps pieces.
  virtual void Note(const RemotePiece& piece) = 0;
};

// What came of fetching something into a store's cache.
struct FetchOutcome {
  uint64_t bytes = 0;    // that were fetched; 0: it was there
  bool is_kept = false;  // false: there is no cache, or no room in it
};

// DATA.tar has its index in DATA.tar.idx (../shards/index_file.h).
inline constexpr char kIndexFileSuffix[] = ".idx";

// What came of looking for the index of a shard beside it.
enum class IndexFileUse { kUsed, kRefused, kAbsent };
inline constexpr size_t kIndexFileUses = 3;

// One file, in the version that it had when it was found. Another version is never read: then Read
// and ReadPiece fail with DataLoss.
// **Thread safety**: any thread. Reading waits for the network.
class RemoteFile : public ByteSource {
 public:
  // Its URL, for messages, without secrets.
  virtual std::string path() const = 0;
  // Its size, the time of its last change, and in place of the inode a hash of its version, which
  // is never 0.
  virtual FileState state() const = 0;

  // Fills `into` from the offset within a piece of the file. The whole piece is fetched, and kept
  // where there is room for it. Pieces of one file either are the same or have no byte in common.
  // **Errors**: as Read, which keeps nothing.
  virtual absl::Status ReadPiece(const RemotePiece& piece, uint64_t from,
                                 std::span<std::byte> into) const = 0;
  // Begins a pass through the file. Null: Read is as good.
  virtual std::unique_ptr<RemotePass> BeginPass() const { return nullptr; }
  // Says that the piece will be read soon, and when it will be needed after that. Never waits.
  virtual void Expect(const RemotePiece&, const UseTimes&) const {}
  // Fetches the piece into the cache, unless it is there. **Errors**: as Read.
  virtual absl::StatusOr<FetchOutcome> Fetch(const RemotePiece&) const { return FetchOutcome{}; }
  // Says when the piece will be needed next. Never waits.
  virtual void NoteUse(const RemotePiece&, uint64_t /*next*/) const {}

  // What tells its version from others, by ToVersionName; empty: nothing is known.
  virtual std::string version() const { return ""; }
  // All of the file in the same store whose name is this one's with `suffix` behind it, by one
  // request; nullopt: there is none, or nobody may read it. `take` is told how many more bytes are
  // about to be held; an error of it ends the read. **Errors**: as Read, and those of `take`.
  using TakeMemory = std::function<absl::Status(uint64_t more)>;
  virtual absl::StatusOr<std::optional<std::string>> ReadBeside(absl::string_view /*suffix*/,
                                                                const TakeMemory&) const {
    return std::nullopt;
  }
  // Counts what came of an index file. Never waits.
  virtual void NoteIndexFile(IndexFileUse) const {}
};

// What a listing of a folder tells of a file or a folder in it.
struct RemoteEntry {
  std::string name = {};  // below the folder that was listed; that of a folder ends in a slash
  uint64_t bytes = 0;
  uint64_t pin = 0;  // a hash of what tells its version from others; 0: a folder
};

// Many small files of a folder, which are read as one file, in which they lie one after another.
// Each of them is a piece of it.
struct GatheredFiles {
  std::string folder = {};  // its URL, which ends in a slash
  // The size of all of them, and in place of the inode a hash of all names, sizes and pins.
  FileState state = {};
  // The file that begins at that offset. Any thread may call it.
  std::function<RemoteEntry(uint64_t offset)> at = {};
};

// Finds files by their URLs. **Thread safety**: any thread.
class RemoteFiles {
 public:
  using Found = std::vector<std::shared_ptr<const RemoteFile>>;

  virtual ~RemoteFiles() = default;
  // In the order of the URLs. **Errors**: NotFound, PermissionDenied or Unavailable, with the URL;
  // InvalidArgument if it is none.
  virtual absl::StatusOr<Found> Find(std::span<const std::string> urls) = 0;
  // The files whose URL begins with `folder`, which ends in a slash, and end in `suffix`, in the
  // order of their names; not those in folders below it. **Errors**: as Find.
  virtual absl::StatusOr<Found> List(const std::string& folder, absl::string_view suffix) = 0;

  // Gives `take` what lies in a folder, whose URL ends in a slash, a page at a time, until it
  // returns false: kOneLevel: its files, and the folders directly in it; kAll: all files in it and
  // below. **Errors**: as Find, and those of `take`; FailedPrecondition if the store gives no
  // ETags.
  enum class Depth { kOneLevel, kAll };
  using TakePage = std::function<absl::StatusOr<bool>(std::vector<RemoteEntry>)>;
  virtual absl::Status ListPages(const std::string& folder, Depth depth, const TakePage& take) = 0;
  // The files as one, which is read by ReadPiece alone, a whole file at a time. **Errors**: as
  // Find. Nothing is looked at.
  virtual absl::StatusOr<std::shared_ptr<const RemoteFile>> Gather(GatheredFiles files) = 0;
  // A number that differs for two stores in which the same URL names different files.
  virtual uint64_t StoreOf(const std::string& url) = 0;
};

// What a read of a file says that was there when it was found: if it is gone, that is as permanent
// as if it had changed. Other errors stay.
absl::Status ToReadStatus(absl::Status read);

// What tells a version from others: the ETag without its quotes; of a server that gives none,
// Last-Modified. Empty: there is neither.
std::string ToVersionName(absl::string_view etag, absl::string_view modified);

// Whether the text is the URL of a file or folder in a store: s3://, gs://, https:// or http://.
bool IsRemotePath(absl::string_view text);

}  // namespace penstock::source
