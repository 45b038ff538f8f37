// Which files a dataset of shards is made of. Any thread; looks at the file system.
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
  // Absolute: files, patterns with braces (braces.h), or folders, which mean those of their files
  // that end in `suffix`, sorted by name.
  std::vector<std::string> shards;
  absl::string_view suffix;
  std::vector<std::string> roots;  // nothing outside of these is read; none: the files' own folders
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

// The files, in the order in which they are named. InvalidArgument: a pattern that means nothing,
// one file twice; NotFound: a file that is not there, a folder without any; ResolveUnderRoots'
// errors.
absl::StatusOr<std::vector<TreeFile>> ListShards(const ShardListOptions& options);

// The names in a folder that end in `suffix`, sorted; none where it holds a sub-folder, or is no
// folder.
std::vector<std::string> NamesEndingIn(const std::string& folder, absl::string_view suffix);

}  // namespace penstock::source
