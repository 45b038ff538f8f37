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
    if (more.size() == 1 && !IsRemotePath(more[0]) && fs::is_directory(more[0], ignored)) {
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

absl::Status CheckOnce(const std::vector<TreeFile>& files) {
  std::set<std::string> seen;
  for (const TreeFile& file : files)
    if (!seen.insert(file.path()).second)
      return absl::InvalidArgumentError(absl::StrCat("'", file.path(), "' is named twice"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TreeFile>> FindLocal(const std::vector<std::string>& paths,
                                                const ShardListOptions& options) {
  FileFinder finder(options.roots, options.confinement);
  std::vector<TreeFile> files;
  for (const std::string& path : paths) {
    absl::StatusOr<TreeFile> file = finder.Find(path);
    if (!file.ok())
      return base::Annotate(file.status(),
                            absl::StrCat("shard ", files.size() + 1, " of ", paths.size()));
    files.push_back(*std::move(file));
  }
  return files;
}

// A single URL that ends in a slash is a folder.
absl::StatusOr<std::vector<TreeFile>> FindRemote(const std::vector<std::string>& urls,
                                                 const ShardListOptions& options) {
  if (options.remote == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("'", urls.front(), "' is in an object store, which is not read here"));
  RemoteFiles::Found found;
  if (urls.size() == 1 && absl::EndsWith(urls.front(), "/")) {
    PENSTOCK_ASSIGN_OR_RETURN(found, options.remote->List(urls.front(), options.suffix));
    if (found.empty())
      return absl::NotFoundError(absl::StrCat("'", urls.front(), "' holds no files that end in ",
                                              options.suffix, "; name the files"));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(found, options.remote->Find(urls));
  }
  std::vector<TreeFile> files;
  for (auto& file : found) files.push_back({.tree = nullptr, .remote = std::move(file)});
  return files;
}

}  // namespace

absl::StatusOr<std::vector<TreeFile>> ListShards(const ShardListOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, Expand(options));
  const auto remote = std::count_if(paths.begin(), paths.end(),
                                    [](const std::string& path) { return IsRemotePath(path); });
  if (remote != 0 && static_cast<size_t>(remote) != paths.size())
    return absl::InvalidArgumentError(
        "some shards are files and some are URLs; copy them together");
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<TreeFile> files,
                            remote == 0 ? FindLocal(paths, options) : FindRemote(paths, options));
  PENSTOCK_RETURN_IF_ERROR(CheckOnce(files));
  return files;
}

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

}  // namespace penstock::source
