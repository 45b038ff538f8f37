// The index of a dataset of shards: files that hold many samples, one behind the other. One flat,
// read-only block of memory, the same in a file and out of it. Immutable; any thread.
//
//   Header
//   ShardRecord[shards]             48 bytes each
//   ShardSample[samples + 1]        16 bytes each, in the order of shards and of samples in them
//   ExtensionRecord[extensions]     24 bytes each
//   ShardMember[members]            12 bytes each, of tar shards
//   text                            paths of the shards, then names of the extensions
//
// A sample's name is not in it: whoever asks for it reads it in the shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/posix/memory.h"
#include "server/source/files/file_state.h"

namespace penstock::source {

struct ShardManifestHeader {
  char magic[8] = {};     // kShardMagic
  uint32_t version = 0;   // kShardVersion
  uint32_t labeled = 0;   // 1: every sample has a label; 0: none has
  uint64_t identity = 0;  // of the shards' paths, and of what was asked for
  uint64_t shards = 0;
  uint64_t samples = 0;
  uint64_t extensions = 0;
  uint64_t members = 0;
  uint64_t text_bytes = 0;
  uint64_t images = 0;    // samples that have one
  uint64_t digest = 0;    // of what was written in the shards, not of their paths and times
  uint64_t checksum = 0;  // of the whole manifest, this field zero
  uint64_t reserved = 0;  // zero
};
static_assert(sizeof(ShardManifestHeader) == 96);

struct ShardRecord {
  FileState state;
  uint64_t first_sample = 0;
  uint32_t path_offset = 0, path_bytes = 0;  // in the text
};
static_assert(sizeof(ShardRecord) == 48);

struct ShardSample {
  uint64_t place = 0;  // tar: its first member, the image where it has one; else: its offset
  int32_t label = 0;   // 0 where the dataset is not labeled
  uint32_t bytes = 0;  // tar: 0; else: its bytes
};
static_assert(sizeof(ShardSample) == 16);

struct ExtensionRecord {
  uint64_t first_sample = 0;                 // that has one
  uint32_t name_offset = 0, name_bytes = 0;  // in the text
  uint32_t kind = 0;                         // the source's word for it
  uint32_t count = 0;  // values that every sample has of it; kAnyCount: not the same in all
};
static_assert(sizeof(ExtensionRecord) == 24);

inline constexpr uint32_t kAnyCount = UINT32_MAX;

struct ShardMember {
  uint32_t block = 0;      // of the shard, where its data begin
  uint32_t bytes = 0;      // the largest value for that many and more
  uint32_t extension = 0;  // in the table
};
static_assert(sizeof(ShardMember) == 12);

inline constexpr char kShardMagic[8] = {'P', 'S', 'T', 'K', 'S', 'H', 'R', 'D'};
inline constexpr uint32_t kShardVersion = 2;

// The checksum of a manifest's bytes, which begin with a header.
uint64_t ShardChecksumOf(std::span<const std::byte> manifest);

class ShardManifest {
 public:
  // Takes a mapping whose bytes are a manifest. DataLoss says what is wrong with it.
  static absl::StatusOr<ShardManifest> FromMapping(posix::Mapping mapping);

  const ShardManifestHeader& header() const;
  std::span<const std::byte> bytes() const { return mapping_->bytes(); }
  // The same bytes, for as long as they are kept.
  std::shared_ptr<const posix::Mapping> memory() const { return mapping_; }

  std::span<const ShardRecord> shards() const;
  const ShardSample& sample(uint64_t sample) const;
  size_t ShardOf(uint64_t sample) const;
  std::string PathOf(size_t shard) const;
  // Samples of the longest; of shards written alike the last one is shorter.
  uint64_t LongestShard() const;

  // What the shards were when they were indexed.
  std::vector<FileState> States() const;
  // The numbers 0 … the largest label; none where there are negative ones or 65,536 and more.
  std::vector<std::string> Classes() const;

  std::span<const ExtensionRecord> extensions() const;
  absl::string_view ExtensionName(size_t extension) const;
  // Of tar shards: a sample's members, its image first.
  std::span<const ShardMember> MembersOf(uint64_t sample) const;

 private:
  explicit ShardManifest(posix::Mapping mapping)
      : mapping_(std::make_shared<const posix::Mapping>(std::move(mapping))) {}
  absl::string_view Text(uint32_t offset, uint32_t bytes) const;
  std::span<const ShardSample> samples() const;  // and one more
  std::span<const ShardMember> members() const;

  std::shared_ptr<const posix::Mapping> mapping_;  // with whoever stores it
};

}  // namespace penstock::source
