// A shard manifest stored as a file in the state directory.
// **Thread safety**: any thread. Processes may share the directory, because each writes to a
// temporary file and renames it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/source/files/parallel_for.h"
#include "server/source/files/tree_file.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/state/state_access.h"

namespace penstock::source {

class ShardCache {
 public:
  // Uses STATE_DIR/manifests/<identity>.shards. `identity` covers the shards' paths and the
  // requested fields, so that each dataset has its own file.
  ShardCache(const std::string& state_dir, uint64_t identity,
             std::shared_ptr<StateAccess> access = nullptr);

  // Reads the cached manifest into memory.
  // **Errors**: NotFound if there is none; DataLoss if it is damaged; FailedPrecondition if it has
  // another version; Unavailable if the state directory does not respond.
  absl::StatusOr<ShardManifest> Load() const;
  absl::Status Store(const ShardManifest& manifest) const;
  // Removes the file because it is out of date.
  void Forget() const;

 private:
  std::string folder_;
  std::string path_;
  uint64_t identity_;
  std::shared_ptr<StateAccess> access_;  // shared with the catalogue; null: calls block
};

// Whether every shard is the same file, in the same state, as in the manifest; false if one cannot
// be examined.
// **Errors**: Cancelled if `parallel_for.watch` returned false.
absl::StatusOr<bool> IsCurrent(const ShardManifest& manifest, const std::vector<TreeFile>& files,
                               const ParallelFor& parallel_for);

}  // namespace penstock::source
