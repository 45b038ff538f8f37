// The `folder` source: photographs in one folder a class, in the order of torchvision's
// ImageFolder. README.md says what that order is.
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
  kUse,      // the cached manifest where it is current
  kRebuild,  // index anew, and replace what is cached
};

struct FolderOptions {
  std::string path;                          // absolute
  std::vector<std::string> roots;            // nothing outside of these is read; none: `path` alone
  std::string state_dir;                     // where the manifest is cached; empty: nowhere
  std::shared_ptr<StateAccess> access = {};  // by whom; null: whoever opens waits
  CacheUse cache = CacheUse::kUse;
  size_t threads = 1;  // for indexing
  // How long to look at files whose index is cached; nothing: as long as it takes on this machine's
  // file systems, else kLookFor (manifest_cache.h).
  std::optional<base::Duration> look_for = {};
  // As ScanOptions::progress; not called when the cached manifest is current, but for cancelling.
  std::function<bool(const ScanProgress&)> progress;
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedFolder {
  std::unique_ptr<Dataset> dataset;
  bool from_cache = false;
  // Why nothing could be cached, or the cache had to be replaced; empty: all well.
  std::string warning;
  std::string identity;      // Manifest::Identity
  bool all_examined = true;  // false: some files may have changed since they were indexed
};

// Indexes the folder, or takes its cached manifest. A state directory that is full, damaged or
// cannot be written costs a warning. Errors: ResolveUnderRoots', ScanDataset's.
absl::StatusOr<OpenedFolder> OpenFolder(const FolderOptions& options);

}  // namespace penstock::source
