// What datasets of shards have in common: naming, opening and identifying them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"
#include "server/source/images/folder.h"
#include "server/source/state/state_access.h"

namespace penstock::source {

// Selects a dataset.
struct ShardsSpec {
  // Absolute paths or URLs of files, brace patterns (braces.h), or folders. A folder stands for its
  // files with the source's suffix.
  std::vector<std::string> shards;
  // Names, in the source's terms, of a sample's image and label; empty: the default. Label "none":
  // samples have no labels.
  std::string image = {}, label = {};

  bool operator==(const ShardsSpec&) const = default;
};

struct ShardOptions {
  ShardsSpec spec;
  // Nothing outside of these is read; empty: the shards' own folders.
  std::vector<std::string> roots;
  std::string state_dir;                     // where the manifest is cached; empty: not cached
  std::shared_ptr<StateAccess> access = {};  // accesses state_dir; null: the caller blocks
  CacheUse cache = CacheUse::kUse;
  size_t threads = 1;  // for indexing
  // Called about every 100 ms with the number of samples found so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
  RemoteFiles* remote = nullptr;  // as in ShardListOptions
};

struct OpenedShards {
  std::unique_ptr<Dataset> dataset;
  bool from_cache = false;
  std::string warning;  // what could not be cached or used; empty: no problem
};

// Lists the files. **Errors**: those of ListShards.
absl::StatusOr<std::vector<TreeFile>> ListFiles(const ShardOptions& options,
                                                absl::string_view suffix);

// A hash of the files' paths, the source and the requested fields. Names the cached manifest.
uint64_t ShardsNumber(const std::vector<TreeFile>& files, const ShardsSpec& spec,
                      absl::string_view suffix);

// Tells whether an open dataset is the requested one: `key` identifies the request, and `files`
// changes when a shard does. Reads none of the shards.
struct ShardsIdentity {
  std::string key;
  FilesStamp files;
};
absl::StatusOr<ShardsIdentity> IdentityOfShards(const ShardOptions& options,
                                                absl::string_view suffix);

}  // namespace penstock::source
