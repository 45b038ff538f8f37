// From what was found in each shard to the manifest's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/images/manifest.h"
#include "server/source/shards/shard_manifest.h"

namespace penstock::source {

// One shard, as it was found. The places of samples and the extensions of members are the shard's
// own; the builder makes them the manifest's.
struct ScannedShard {
  struct Extension {
    std::string name;
    uint32_t kind = 0;  // the source's word for it; of two that disagree 0 stays
    uint64_t first_sample = 0;
    // Samples that have it, and the fewest and most values in one.
    uint64_t samples = 0, least = 0, most = 0;
  };

  FileState state;
  std::vector<ShardSample> samples;
  std::vector<Extension> extensions;
  std::vector<ShardMember> members;
  uint64_t images = 0;   // samples that have one
  uint64_t labeled = 0;  // samples that have a label
  uint64_t digest = 0;
  std::string example;  // a sample without a label, for people; empty: there is none
  std::string warning;
};

struct ShardsToBuild {
  uint64_t identity = 0;
  std::vector<std::string> paths;  // one a shard
  std::vector<ScannedShard> shards;
};

inline constexpr size_t kMostExtensions = 1024;

// The manifest, in anonymous memory. InvalidArgument: no samples at all; labels of some samples and
// not of others; more than kMostExtensions kinds of members.
absl::StatusOr<ShardManifest> BuildShardManifest(ShardsToBuild build);

}  // namespace penstock::source
