// Reads the samples of a folder dataset.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/images/manifest.h"
#include "server/source/images/manifest_cache.h"

namespace penstock::source {

// What a folder dataset shares with its readers.
// **Thread safety**: immutable except for `changed`; any thread.
struct FolderState {
  FolderState(Tree tree, Manifest manifest, std::optional<ManifestCache> cache)
      : tree(std::move(tree)), manifest(std::move(manifest)), cache(std::move(cache)) {}

  // The full path as valid UTF-8, with control characters and invalid bytes escaped.
  std::string DisplayPath(uint64_t sample) const;

  // Records that a file differs from the manifest, so that the next opening re-indexes. Returns
  // DataLoss.
  absl::Status NoteChange(uint64_t sample, const std::string& how) const;

  const Tree tree;
  const Manifest manifest;
  const std::optional<ManifestCache> cache;
  mutable std::atomic<bool> changed{false};
};

std::unique_ptr<Dataset::Reader> MakeFolderReader(std::shared_ptr<const FolderState> state);

}  // namespace penstock::source
