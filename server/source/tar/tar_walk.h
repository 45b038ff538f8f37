// Walks through a shard from header to header, without reading what lies between. It states which
// bytes it needs, and the caller reads them. Pure.
// **Thread safety**: one thread.
//
//   while (!walk.done()) {
//     read walk.wants() …;
//     ASSIGN(member, walk.Take(bytes));   // perhaps a member
//   }
//
// A shard ends with a block of zeros or at the end of its file. The standard demands two such
// blocks; the second one is checked, and anything after it is ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "server/source/tar/tar_format.h"

namespace penstock::source {

// A regular file in a shard. It lies within the shard, after all previous members.
struct TarMember {
  std::string name;
  uint64_t offset = 0;  // of its data; a multiple of kTarBlock
  uint64_t bytes = 0;
};

class TarWalk {
 public:
  struct ByteRange {
    uint64_t offset = 0, bytes = 0;
  };

  // Begins at the header at offset `from`; 0 is the first header.
  TarWalk(std::string shard, uint64_t shard_bytes, uint64_t from = 0)
      : shard_(std::move(shard)), shard_bytes_(shard_bytes), at_(from) {}

  bool done() const { return done_; }
  // Lies within the shard; at most kLongestNote bytes.
  ByteRange wants() const;

  // `bytes`: the bytes that wants() asked for. **Errors**: InvalidArgument names the shard, the
  // offset and the problem, and ends the walk.
  absl::StatusOr<std::optional<TarMember>> Take(std::span<const std::byte> bytes);

  static constexpr uint64_t kLongestNote = 1 << 20;  // a long name, or an extended header

 private:
  enum class Reads { kHeader, kSecondZero, kNote };

  TarPlace place() const { return {shard_, at_}; }
  absl::StatusOr<std::optional<TarMember>> TakeHeader(std::span<const std::byte> bytes);
  absl::Status TakeNote(std::span<const std::byte> bytes);
  absl::Status BeginNote(const TarHeader& header);
  absl::StatusOr<std::optional<TarMember>> Finish(TarHeader header);
  absl::Status CheckFits(const TarHeader& header) const;
  void MoveTo(uint64_t next);

  const std::string shard_;
  const uint64_t shard_bytes_;
  uint64_t at_;  // offset of the header; for a note, of the note's header
  bool done_ = false;
  Reads reads_ = Reads::kHeader;
  TarHeader note_;     // the header whose data comes next
  uint64_t seen_ = 0;  // number of headers
  std::optional<std::string> long_name_;
  PaxRecords next_, all_;
};

}  // namespace penstock::source
