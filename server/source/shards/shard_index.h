// Gets the manifest of a list of shards: from the cache if it is current, else by building it.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/shards/shards.h"

namespace penstock::source {

struct IndexedShards {
  ShardManifest manifest;
  bool from_cache = false;
  std::string warning;
};

// Finds the samples of one shard, incrementing `found` as it goes. Called on any thread.
using ScanShard =
    std::function<absl::StatusOr<ScannedShard>(const TreeFile&, std::atomic<uint64_t>& found)>;

// `number`: ShardsNumber of the files. Scans several shards in parallel.
absl::StatusOr<IndexedShards> IndexShards(const std::vector<TreeFile>& files, uint64_t number,
                                          const ShardOptions& options, const ScanShard& scan);

}  // namespace penstock::source
