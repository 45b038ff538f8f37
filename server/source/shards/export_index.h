// Makes the index files that are put beside shards in an object store (index_file.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/files/tree_file.h"
#include "server/source/shards/shard_index.h"

namespace penstock::source {

struct ExportedIndex {
  std::string shard = {};  // its path or URL
  uint64_t samples = 0;
  std::string file = {};  // the index file's content
};

struct IndexExport {
  size_t threads = 1;
  // Called several times a second with the number of samples found so far; false cancels.
  std::function<bool(uint64_t)> watch;
  // Takes the index of a shard, in any order. Called on several threads at a time, and may wait.
  std::function<absl::Status(ExportedIndex)> take;
};

// Scans each shard and gives away its index. That of a local shard is for the versions that a store
// may make of it (upload_versions.h), so it is read as a whole; that of a remote shard for
// the version that is there.
// **Errors**: those of ScanOneShard and of `take`; Aborted if a shard changed meanwhile;
// FailedPrecondition: the store gives a shard neither an ETag nor Last-Modified; ResourceExhausted:
// an index is too large to be used; Cancelled.
absl::Status ExportIndexFiles(const std::vector<TreeFile>& files, const ShardIndexer& indexer,
                              const IndexExport& exported);

}  // namespace penstock::source
