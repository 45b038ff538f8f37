// What datasets of shards have in common: how they are named, opened and told apart.
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

// Which dataset.
struct ShardsSpec {
  // Absolute: files, patterns with braces (braces.h), or folders, which mean the files in them that
  // have the source's suffix.
  std::vector<std::string> shards;
  // What of a sample is its image and its label, in the source's words; empty: the usual one. A
  // label "none": samples have none.
  std::string image, label;

  bool operator==(const ShardsSpec&) const = default;
};

struct ShardOptions {
  ShardsSpec spec;
  std::vector<std::string>
      roots;              // nothing outside of these is read; none: the shards' own folders
  std::string state_dir;  // where the manifest is cached; empty: nowhere
  std::shared_ptr<StateAccess> access = {};  // by whom; null: whoever opens waits
  CacheUse cache = CacheUse::kUse;
  size_t threads = 1;  // for indexing
  // Called about every 100 ms with the samples found so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress;
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedShards {
  std::unique_ptr<Dataset> dataset;
  bool from_cache = false;
  std::string warning;  // what could not be cached or used; empty: all well
};

// The files that are meant. Errors: ListShards'.
absl::StatusOr<std::vector<TreeFile>> FilesOf(const ShardOptions& options,
                                              absl::string_view suffix);

// Of the files' paths, of the source, and of what was asked for: another one has another manifest.
uint64_t ShardsNumber(const std::vector<TreeFile>& files, const ShardsSpec& spec,
                      absl::string_view suffix);

// What tells whether open shards are the ones that are asked for: which they are, and what changes
// when one of them does. Reads none of them.
struct ShardsIdentity {
  std::string key;
  FilesStamp files;
};
absl::StatusOr<ShardsIdentity> IdentityOfShards(const ShardOptions& options,
                                                absl::string_view suffix);

}  // namespace penstock::source
