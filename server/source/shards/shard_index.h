// Gets the manifest of a list of shards: from the cache if it is current, else by building it, from
// the indexes beside the shards or from the shards.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/beside_indexes.h"
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

// How the shards of one source are indexed: by the indexes beside them, else by a scan.
struct ShardIndexer {
  ScanShard scan;
  IndexFileUser beside;
};

// Opens the shard, scans it, and checks that it stays the same meanwhile. **Errors**: those of
// `scan`; Aborted if it changed.
absl::StatusOr<ScannedShard> ScanOneShard(const TreeFile& shard, const ScanShard& scan,
                                          const ScanWatch& watch);

// `number`: ShardsNumber of the files. Scans several shards in parallel.
// **Errors**: those of ScanOneShard; Cancelled.
absl::StatusOr<IndexedShards> IndexShards(const std::vector<TreeFile>& files, uint64_t number,
                                          const ShardOptions& options, const ShardIndexer& indexer);

}  // namespace penstock::source
