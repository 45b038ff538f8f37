// From header to header through a shard, without reading what lies between them: says which bytes
// it wants, and is given them. Pure: whoever uses it reads. One thread.
//
//   while (!walk.done()) {
//     read walk.wants() …;
//     ASSIGN(member, walk.Take(bytes));   // perhaps a member
//   }
//
// A shard ends with a block of zeros (two by the standard; what lies behind is not looked at but
// for the second one), or where its file ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "server/source/tar/tar_format.h"

namespace penstock::source {

// A regular file in a shard. It lies within the shard, behind all members before it.
struct TarMember {
  std::string name;
  uint64_t offset = 0;  // of its data, a multiple of kTarBlock
  uint64_t bytes = 0;
};

class TarWalk {
 public:
  struct Range {
    uint64_t offset = 0, bytes = 0;
  };

  // From a header on; 0 is the first one.
  TarWalk(std::string shard, uint64_t shard_bytes, uint64_t from = 0)
      : shard_(std::move(shard)), shard_bytes_(shard_bytes), at_(from) {}

  bool done() const { return done_; }
  // Within the shard; at most kLongestNote bytes.
  Range wants() const;

  // `bytes`: what wants() asked for. InvalidArgument names shard, offset, and what is wrong; the
  // walk is over then.
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
  uint64_t at_;  // of the header, of which the note is
  bool done_ = false;
  Reads reads_ = Reads::kHeader;
  TarHeader note_;     // whose data come next
  uint64_t seen_ = 0;  // headers
  std::optional<std::string> long_name_;
  PaxRecords next_, all_;
};

}  // namespace penstock::source
