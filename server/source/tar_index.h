// From tar shards to their manifest: the cached one while it holds, else one that is built. Any
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/source/shard_cache.h"
#include "server/source/shard_manifest.h"
#include "server/source/tar.h"

namespace penstock::source {

struct IndexedTar {
  ShardManifest manifest;
  bool from_cache = false;
  std::string warning;
};

// Of the shards' paths, and of what was asked for.
uint64_t TarIndexIdentity(const std::vector<TreeFile>& files, const TarShards& asked);

absl::StatusOr<IndexedTar> IndexTar(const std::vector<TreeFile>& files,
                                    const std::optional<ShardCache>& cache,
                                    const TarOptions& options);

}  // namespace penstock::source
