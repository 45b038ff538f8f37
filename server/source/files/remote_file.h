// Files in object stores, as datasets see them. Whoever opens a dataset passes them in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/files/byte_source.h"
#include "server/source/files/file_state.h"

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
  // Says that the piece will be read soon. Never waits.
  virtual void Expect(const RemotePiece&) const {}
  // Begins a pass through the file. Null: Read is as good.
  virtual std::unique_ptr<RemotePass> BeginPass() const { return nullptr; }
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
};

// Whether the text is the URL of a file or folder in a store: s3://, gs://, https:// or http://.
bool IsRemotePath(absl::string_view text);

}  // namespace penstock::source
