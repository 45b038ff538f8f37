// The `folder` source: images in one folder per class, in the order of torchvision's ImageFolder
// (see ../README.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/images/scan.h"
#include "server/source/state/state_access.h"

namespace penstock::source {

enum class CacheUse {
  kUse,      // use the cached manifest if it is current
  kRebuild,  // re-index and replace the cache
};

struct FolderOptions {
  std::string path;                // absolute
  std::vector<std::string> roots;  // nothing outside of these is read; empty: `path` alone
  std::string state_dir;           // where the manifest is cached; empty: not cached
  std::shared_ptr<StateAccess> access = {};  // accesses state_dir; null: OpenFolder blocks
  CacheUse cache = CacheUse::kUse;
  size_t threads = 1;  // for indexing
  // How long to check files when the manifest is cached. Nullopt: until done on local file systems,
  // else kLookFor (manifest_cache.h).
  std::optional<base::Duration> look_for = {};
  // See ScanOptions::progress. With a current cached manifest, it is called only to ask about
  // cancelling.
  std::function<bool(const ScanProgress&)> progress = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedFolder {
  std::unique_ptr<Dataset> dataset;
  bool from_cache = false;
  // Why the manifest could not be cached, or why the cache was replaced; empty: no problem.
  std::string warning;
  std::string identity;      // Manifest::Identity
  bool all_examined = true;  // false: some files may have changed since they were indexed
};

// Opens the folder with its cached manifest, or indexes it. A state directory that is full, damaged
// or not writable causes only a warning.
// **Errors**: those of ResolveUnderRoots and ScanDataset.
absl::StatusOr<OpenedFolder> OpenFolder(const FolderOptions& options);

}  // namespace penstock::source
