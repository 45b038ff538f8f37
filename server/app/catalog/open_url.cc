#include "server/app/catalog/open_url.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/source/files/braces.h"
#include "server/source/files/remote_file.h"
#include "server/source/images/remote_folder.h"
#include "server/source/tar/tar.h"
#include "server/source/tfrecord/tfrecord.h"

namespace penstock::app {
namespace {

// A folder's first objects decide what it is. One with more has its shards named.
constexpr uint64_t kMostLookedAt = 10'000;

// What lies directly in a folder.
struct FolderContent {
  bool tar = false, records = false, folders = false;
  uint64_t entries = 0;
};

absl::StatusOr<FolderContent> LookInto(const std::string& folder, source::RemoteFiles& remote) {
  FolderContent content;
  const auto take = [&](const std::vector<source::RemoteEntry>& page) -> absl::StatusOr<bool> {
    for (const source::RemoteEntry& entry : page) {
      const bool is_file = entry.pin != 0 && entry.name[0] != '.';  // hidden ones are none
      content.tar |= is_file && absl::EndsWith(entry.name, source::kTarSuffix);
      content.records |= is_file && absl::EndsWith(entry.name, source::kRecordsSuffix);
      content.folders |= entry.pin == 0;
    }
    content.entries += page.size();
    return !content.tar && content.entries < kMostLookedAt;
  };
  PENSTOCK_RETURN_IF_ERROR(remote.ListPages(folder, source::RemoteFiles::Depth::kOneLevel, take));
  return content;
}

source::RemoteFolderOptions ToRemoteFolderOptions(const NamedDataset& dataset,
                                                  const OpeningOptions& options) {
  return {
      .url = dataset.path,
      .remote = options.remote,
      .state_dir = options.state_dir,
      .access = options.access,
      .threads = std::max<size_t>(static_cast<size_t>(options.index_threads), kRemoteIndexThreads)};
}

absl::Status NoDataset(const std::string& url) {
  return absl::InvalidArgumentError(absl::StrCat(
      "opening a dataset: '", url, "': from stores Penstock reads tar and TFRecord shards, by ",
      "names such as s3://bucket/train-{000..146}.tar, or by their folder, s3://bucket/train/, "
      "and ",
      "folders of photographs, with a folder per class; a folder's URL ends in a slash; arrays, ",
      "s3://bucket/rows.npy; and files of tokens (tokens:s3://bucket/x.bin,length=1024); pack the ",
      "samples into shards, or copy what is there to a disk"));
}

// What the folder was when its store last answered. Nullopt: nobody knows.
std::optional<FolderContent> RememberContent(const NamedDataset& dataset,
                                             const OpeningOptions& options) {
  const auto has = [&](absl::string_view suffix) {
    const auto found = options.remote->List(dataset.path, suffix);
    return found.ok() && !found->empty();
  };
  if (source::IsRemoteFolderKnown(ToRemoteFolderOptions(dataset, options)))
    return FolderContent{.folders = true};
  const FolderContent content = {.tar = has(source::kTarSuffix),
                                 .records = has(source::kRecordsSuffix)};
  if (!content.tar && !content.records) return std::nullopt;
  return content;
}

// Shards come first, as in RecogniseUrl for files.
absl::StatusOr<NamedDataset> RecogniseFolder(NamedDataset dataset, const OpeningOptions& options) {
  absl::StatusOr<FolderContent> content = LookInto(dataset.path, *options.remote);
  if (absl::IsUnavailable(content.status()))
    if (std::optional<FolderContent> last = RememberContent(dataset, options)) content = *last;
  PENSTOCK_RETURN_IF_ERROR(content.status());
  if (content->tar)
    dataset.tar = {.shards = {dataset.path}};
  else if (content->records)
    dataset.tfrecord = {.shards = {dataset.path}};
  else if (!content->folders)
    return NoDataset(dataset.path);
  dataset.by_path = false;
  return dataset;
}

}  // namespace

absl::StatusOr<NamedDataset> RecogniseUrl(NamedDataset dataset, const OpeningOptions& options) {
  if (absl::EndsWith(dataset.path, "/") && options.remote != nullptr)
    return RecogniseFolder(std::move(dataset), options);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                            source::ExpandBraces(dataset.path));
  if (files.size() == 1 && absl::EndsWith(files.front(), ".npy"))
    dataset.npy = {.arrays = {{.name = "", .file = files.front()}}};
  else if (source::IsTarPath(files.front()))
    dataset.tar = {.shards = {dataset.path}};
  else if (source::IsRecordsPath(files.front()))
    dataset.tfrecord = {.shards = {dataset.path}};
  else
    return NoDataset(dataset.path);
  dataset.by_path = false;
  return dataset;
}

absl::StatusOr<OpenedDataset> OpenFolderUrl(const NamedDataset& dataset,
                                            const OpeningOptions& options,
                                            const std::function<bool(uint64_t)>& seen) {
  if (options.remote == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("'", dataset.path, "' is in an object store, which is not read here"));
  source::RemoteFolderOptions folder = ToRemoteFolderOptions(dataset, options);
  folder.progress = [&seen](const source::ScanProgress& progress) { return seen(progress.found); };
  PENSTOCK_ASSIGN_OR_RETURN(source::OpenedFolder opened, source::OpenRemoteFolder(folder));
  OpenedDataset result;
  result.identity = {.key = dataset.path, .stamp = std::move(opened.identity)};
  result.dataset = std::move(opened.dataset);
  result.from_cache = opened.from_cache;
  result.warning = std::move(opened.warning);
  return result;
}

}  // namespace penstock::app
