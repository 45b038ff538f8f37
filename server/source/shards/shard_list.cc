#include "server/source/shards/shard_list.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "server/source/files/braces.h"
#include "server/source/files/python_order.h"
#include "server/source/files/roots.h"

namespace penstock::source {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<std::string>> InFolder(const std::string& folder,
                                                  absl::string_view suffix) {
  std::vector<std::string> names = NamesEndingIn(folder, suffix);
  if (names.empty())
    return absl::NotFoundError(absl::StrCat("'", folder, "' holds no files that end in ", suffix,
                                            ", or has sub-folders; name the files"));
  for (std::string& name : names) name = absl::StrCat(folder, "/", name);
  return names;
}

// Expands the options into paths.
absl::StatusOr<std::vector<std::string>> Expand(const ShardListOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& shard : options.shards) {
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> more, ExpandBraces(shard));
    std::error_code ignored;
    if (more.size() == 1 && fs::is_directory(more[0], ignored)) {
      PENSTOCK_ASSIGN_OR_RETURN(
          const std::string real,
          ResolveUnderRoots(more[0], options.roots.empty() ? std::vector{more[0]} : options.roots));
      PENSTOCK_ASSIGN_OR_RETURN(more, InFolder(real, options.suffix));
    }
    paths.insert(paths.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    if (paths.size() > kMostExpanded)
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMostExpanded, " shards"));
  }
  if (paths.empty()) return absl::InvalidArgumentError("no shards are named");
  return paths;
}

}  // namespace

std::vector<std::string> NamesEndingIn(const std::string& folder, absl::string_view suffix) {
  std::vector<std::string> names;
  std::error_code error, ignored;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(ignored)) return {};
    std::string name = at->path().filename().string();
    if (absl::EndsWith(name, suffix) && name[0] != '.') names.push_back(std::move(name));
  }
  if (error) return {};
  std::sort(names.begin(), names.end(), PythonLess);
  return names;
}

absl::StatusOr<std::vector<TreeFile>> ListShards(const ShardListOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, Expand(options));
  FileFinder finder(options.roots, options.confinement);
  std::set<std::string> seen;
  std::vector<TreeFile> files;
  for (const std::string& path : paths) {
    absl::StatusOr<TreeFile> file = finder.Find(path);
    if (!file.ok())
      return base::Annotate(file.status(),
                            absl::StrCat("shard ", files.size() + 1, " of ", paths.size()));
    if (!seen.insert(file->path()).second)
      return absl::InvalidArgumentError(absl::StrCat("'", file->path(), "' is named twice"));
    files.push_back(*std::move(file));
  }
  return files;
}

}  // namespace penstock::source
