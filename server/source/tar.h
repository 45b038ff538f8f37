// The `tar` source: WebDataset's shards. README.md says what a sample is, and which of its members
// can be asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/dataset.h"
#include "server/source/folder.h"
#include "server/source/tree.h"

namespace penstock::source {

// Which dataset.
struct TarShards {
  // Absolute: files, patterns with braces, or folders, which mean the .tar files in them.
  std::vector<std::string> shards;
  std::string image;  // extension of the image; empty: jpg, jpeg, png or webp, the first there is
  std::string label;  // extension of the label; empty: cls, where samples have it; "none": none
};

struct TarOptions {
  TarShards shards;
  std::vector<std::string>
      roots;              // nothing outside of these is read; none: the shards' own folders
  std::string state_dir;  // where the manifest is cached; empty: nowhere
  CacheUse cache = CacheUse::kUse;
  size_t threads = 1;  // for indexing
  // Called about every 100 ms with the samples found so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress;
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedTar {
  std::unique_ptr<Dataset> dataset;
  bool from_cache = false;
  std::string warning;  // what could not be cached or used; empty: all well
};

// Indexes the shards, or takes their cached manifest. Errors: ListShards', ScanTarShard's,
// BuildShardManifest's; NotFound: no sample has the image that was asked for.
absl::StatusOr<OpenedTar> OpenTar(const TarOptions& options);

// What tells whether open shards are the ones that are asked for: which they are, and a number that
// changes when one of them does. Reads none of them.
struct TarIdentity {
  std::string key;
  uint64_t stamp = 0;
};
absl::StatusOr<TarIdentity> IdentityOfTar(const TarOptions& options);

// Whether a path that somebody gives means tar shards: a file with .tar in its name, a pattern with
// braces, or a folder with .tar files and without sub-folders.
bool IsTarPath(const std::string& path);

}  // namespace penstock::source
