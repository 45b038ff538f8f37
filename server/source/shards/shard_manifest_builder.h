// Builds a manifest from the scan results of all shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/images/manifest.h"
#include "server/source/shards/shard_manifest.h"

namespace penstock::source {

// The scan result of one shard. Indices of members and extensions are relative to this shard; the
// builder converts them.
struct ScannedShard {
  struct Extension {
    std::string name;
    uint32_t kind = 0;  // defined by the source; 0 if two shards disagree
    uint64_t first_sample = 0;
    // Samples that have it, and the minimum and maximum number of values per sample.
    uint64_t samples = 0, least = 0, most = 0;
    uint32_t array = 0;  // of its first member that has elements, as in array_of_member
  };

  FileState state;
  std::vector<ShardSample> samples;
  std::vector<Extension> extensions;
  std::vector<ShardMember> members;
  // The distinct types and shapes of members that are arrays, and for each member the number of its
  // own, from 1; 0: the member is not an array. Both are empty if no member is an array.
  std::vector<ArrayShape> arrays;
  std::vector<uint32_t> array_of_member;
  uint64_t images = 0;   // number of samples with an image
  uint64_t labeled = 0;  // number of samples with a label
  uint64_t digest = 0;
  std::string example;  // a sample without a label, for messages; empty: every sample has one
  std::string warning;
};

struct ShardsToBuild {
  uint64_t identity = 0;
  std::vector<std::string> paths = {};  // one per shard
  std::vector<ScannedShard> shards = {};
};

inline constexpr size_t kMostExtensions = 1024;
static_assert(kMostExtensions <= kLastExtension);
// The error for samples with more.
absl::Status TooManyExtensions(const std::string& example);

// Builds the manifest in anonymous memory.
// **Errors**: ResourceExhausted if the manifest takes too much memory (files/index_memory.h);
// InvalidArgument if there are no samples, if only some samples have labels, or if there are more
// than kMostExtensions extensions.
absl::StatusOr<ShardManifest> BuildShardManifest(ShardsToBuild build);

}  // namespace penstock::source
