// Lists the files of a dataset of shards.
// **Thread safety**: any thread. Accesses the file system.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {

struct ShardListOptions {
  // Absolute paths or URLs of files, brace patterns (braces.h), or folders. A folder stands for its
  // files that end in `suffix`, sorted by name. The URL of a folder ends in a slash.
  std::vector<std::string> shards;
  absl::string_view suffix;
  // Nothing outside of these is read; empty: the files' own folders. They do not concern URLs.
  std::vector<std::string> roots;
  Tree::Confinement confinement = Tree::Confinement::kKernel;
  RemoteFiles* remote = nullptr;  // finds URLs; null: they are refused
};

// Returns the files in the order in which they are named.
// **Errors**: InvalidArgument for a malformed pattern or a duplicate; NotFound for a missing file
// or a folder without any; those of ResolveUnderRoots.
absl::StatusOr<std::vector<TreeFile>> ListShards(const ShardListOptions& options);

// Names in the folder that end in `suffix`, sorted. Empty if it has a sub-folder or is not a
// folder.
std::vector<std::string> NamesEndingIn(const std::string& folder, absl::string_view suffix);

}  // namespace penstock::source
