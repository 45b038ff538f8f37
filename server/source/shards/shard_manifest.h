// The index of a dataset of shards, that is, of files that hold many samples each. It is one flat,
// read-only block of memory, identical in memory and on disk.
// **Thread safety**: immutable; any thread.
//
//   Header
//   ShardRecord[shards]             48 bytes each
//   ShardSample[samples + 1]        16 bytes each, in the order of shards and of samples in them
//   ExtensionRecord[extensions]     64 bytes each
//   ShardMember[members]            12 bytes each, of tar shards
//   text                            paths of the shards, then names of the extensions
//
// Sample names are not stored here; they are read from the shard when needed.
#pragma once

#include <array>
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
  uint32_t labeled = 0;   // 1: every sample has a label; 0: no sample has one
  uint64_t identity = 0;  // hash of the shards' paths and the requested fields
  uint64_t shards = 0;
  uint64_t samples = 0;
  uint64_t extensions = 0;
  uint64_t members = 0;
  uint64_t text_bytes = 0;
  uint64_t images = 0;    // number of samples with an image
  uint64_t digest = 0;    // of the shards' content, without their paths and times
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
  // Tar: index of its first member (the image, if it has one); else: byte offset.
  uint64_t place = 0;
  int32_t label = 0;   // 0 where the dataset is not labeled
  uint32_t bytes = 0;  // tar: 0; else: its size
};
static_assert(sizeof(ShardSample) == 16);

// The type and shape of a tar member that is an array.
struct ArrayShape {
  static constexpr size_t kMostSides = 8;

  uint32_t type = 0;        // a base::DType
  uint32_t dimensions = 0;  // 0: no array that can be a tensor
  std::array<uint32_t, kMostSides> sides = {};

  bool empty() const { return dimensions == 0 || sides[0] == 0; }
  // The same type and shape, but for the first side.
  bool IsLike(const ArrayShape& other) const;
  bool operator==(const ArrayShape&) const = default;
};
static_assert(sizeof(ArrayShape) == 40);

struct ExtensionRecord {
  uint64_t first_sample = 0;                 // the first sample that has one
  uint32_t name_offset = 0, name_bytes = 0;  // in the text
  uint32_t kind = 0;                         // defined by the source
  // Values per sample, or an array's first side; kAnyCount: varies.
  uint32_t count = 0;
  ArrayShape array = {};  // of its first member that has elements
};
static_assert(sizeof(ExtensionRecord) == 64);

inline constexpr uint32_t kAnyCount = UINT32_MAX;

struct ShardMember {
  uint32_t block = 0;           // block of the shard at which its data begins
  uint32_t bytes = 0;           // its size; the maximum value also stands for anything larger
  uint32_t extension : 12 = 0;  // index in the extension table (at most kLastExtension)
  // Of an array of the extension's type and shape, but for its first side: the bytes before its
  // elements. 0: the member is none.
  uint32_t array_header : 20 = 0;

  static constexpr uint32_t kLongestHeader = (1U << 20) - 1;
};
static_assert(sizeof(ShardMember) == 12);

inline constexpr uint32_t kLastExtension = (1U << 12) - 1;

inline constexpr char kShardMagic[8] = {'P', 'S', 'T', 'K', 'S', 'H', 'R', 'D'};
inline constexpr uint32_t kShardVersion = 5;  // 4 did not say where a member's elements begin

class ShardManifest {
 public:
  // Takes ownership of a mapping that contains a manifest. **Errors**: DataLoss says what is wrong
  // with it.
  static absl::StatusOr<ShardManifest> FromMapping(posix::Mapping mapping);

  const ShardManifestHeader& header() const;
  std::span<const std::byte> bytes() const { return mapping_->bytes(); }
  // The same bytes, kept alive by the pointer.
  std::shared_ptr<const posix::Mapping> memory() const { return mapping_; }

  std::span<const ShardRecord> shards() const;
  const ShardSample& sample(uint64_t sample) const;
  size_t ShardOf(uint64_t sample) const;
  std::string PathOf(size_t shard) const;
  // Number of samples in the longest shard. (In a uniform set, only the last one is shorter.)
  uint64_t LongestShard() const;

  // The shards' states when they were indexed.
  std::vector<FileState> States() const;
  // The numbers 0 … the largest label; empty if a label is negative or at least 65,536.
  std::vector<std::string> Classes() const;

  std::span<const ExtensionRecord> extensions() const;
  absl::string_view ExtensionName(size_t extension) const;
  // For tar shards: a sample's members, its image first.
  std::span<const ShardMember> MembersOf(uint64_t sample) const;

 private:
  explicit ShardManifest(posix::Mapping mapping)
      : mapping_(std::make_shared<const posix::Mapping>(std::move(mapping))) {}
  bool IsConsistent() const;
  bool AreMembersConsistent() const;
  absl::string_view Text(uint32_t offset, uint32_t bytes) const;
  std::span<const ShardSample> samples() const;  // samples + 1 of them
  std::span<const ShardMember> members() const;

  std::shared_ptr<const posix::Mapping> mapping_;  // shared with whoever stores it
};

}  // namespace penstock::source
