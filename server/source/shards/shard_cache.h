// The manifest of a dataset of shards as a file in the state directory. Any thread; two processes
// may share the folder: each writes aside and renames.
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
  // STATE_DIR/manifests/<identity>.shards. `identity`: of the shards' paths and of what was asked
  // for, so that another dataset has another file.
  ShardCache(const std::string& state_dir, uint64_t identity,
             std::shared_ptr<StateAccess> access = nullptr);

  // The cached manifest, in memory. NotFound: none yet; DataLoss: damaged; FailedPrecondition:
  // another version's; Unavailable: the state directory does not answer.
  absl::StatusOr<ShardManifest> Load() const;
  // Writes the manifest.
  absl::Status Store(const ShardManifest& manifest) const;
  // Drops the file: what it says no longer holds.
  void Forget() const;

 private:
  std::string folder_;
  std::string path_;
  uint64_t identity_;
  std::shared_ptr<StateAccess> access_;  // with the catalogue; null: whoever calls waits
};

// Whether every shard is the file, in the state, that the manifest knows. What cannot be
// looked at is not current; Cancelled when the parallel-for's watch said so.
absl::StatusOr<bool> IsCurrent(const ShardManifest& manifest, const std::vector<TreeFile>& files,
                               const ParallelFor& parallel_for);

}  // namespace penstock::source
