// Reads ranges of a file in an object store by pieces of one size, so that neighbours share
// requests, and a cache keeps whole pieces.
// **Thread safety**: any thread. Reading waits for the network.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/status.h"
#include "server/source/files/remote_file.h"

namespace penstock::source {

// The part of a file that is read, and how.
struct RangesLayout {
  uint64_t begin = 0, end = 0;   // in the file
  uint64_t piece_bytes = 65536;  // the last piece may have fewer
};

class RemoteRanges {
 public:
  // **Requires**: the layout's part lies within the file.
  RemoteRanges(std::shared_ptr<const RemoteFile> file, const RangesLayout& layout);

  std::string path() const { return file_->path(); }
  const RemoteFile& file() const { return *file_; }
  // Whether a read found another version of the file.
  bool changed() const { return changed_.load(); }

  // Fills `into` from an offset in the file. **Requires**, of all: the range lies in the layout's
  // part. **Errors**: those of RemoteFile::ReadPiece.
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const;
  void Expect(uint64_t offset, uint64_t bytes, const UseTimes& times) const;
  absl::StatusOr<FetchOutcome> Fetch(uint64_t offset, uint64_t bytes) const;
  // Reads by requests for just these bytes, and keeps nothing.
  absl::Status ReadOnce(uint64_t offset, std::span<std::byte> into) const;

 private:
  RemotePiece PieceAt(uint64_t offset) const;
  // Calls `each(piece)` for the pieces of a range, in order, until it fails.
  template <typename Each>
  absl::Status ForEachPiece(uint64_t offset, uint64_t bytes, const Each& each) const;

  const std::shared_ptr<const RemoteFile> file_;  // shared with whoever found it
  const RangesLayout layout_;
  mutable std::atomic<bool> changed_{false};
};

// Fills `into` from the offset by requests of some MiB. **Errors**: those of RemoteFile::Read.
absl::Status ReadInParts(const RemoteFile& file, uint64_t offset, std::span<std::byte> into);

// The same by pieces, which a cache keeps: what opening a dataset reads whole. **Requires**:
// nothing else of the file is read by pieces. **Errors**: those of RemoteFile::ReadPiece.
absl::Status ReadKeptParts(const RemoteFile& file, uint64_t offset, std::span<std::byte> into);

}  // namespace penstock::source
