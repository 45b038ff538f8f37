// Gets the manifest of a list of shards: from the cache if it is current, else by building it.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/shards/shards.h"

namespace penstock::source {

struct IndexedShards {
  ShardManifest manifest;
  bool from_cache = false;
  std::string warning;
};

// Finds the samples of one shard. Called on any thread.
using ScanShard = std::function<absl::StatusOr<ScannedShard>(const ForeignFile&, const TreeFile&,
                                                             const ScanWatch&)>;

// `number`: ShardsNumber of the files. Scans several shards in parallel: opens each, and checks
// that it stays the same while it is scanned.
// **Errors**: those of `scan`; Aborted if a shard changed; Cancelled.
absl::StatusOr<IndexedShards> IndexShards(const std::vector<TreeFile>& files, uint64_t number,
                                          const ShardOptions& options, const ScanShard& scan);

}  // namespace penstock::source
