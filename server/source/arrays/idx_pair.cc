#include "server/source/arrays/idx_pair.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace penstock::source {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kImages = "images", kLabels = "labels";
constexpr size_t kMostListed = 10;
constexpr size_t kMostLookedAt = 10'000;  // a larger folder is not taken for a pair of files

absl::Status FromSystem(const std::error_code& error, const std::string& path) {
  return base::ErrnoStatus(error.value(), absl::StrCat("'", path, "'"));
}

// Replaces the last `from` by `to`; false if there is none.
bool ReplaceLast(std::string& text, absl::string_view from, absl::string_view to) {
  const size_t at = text.rfind(from.data(), std::string::npos, from.size());
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to.data(), to.size());
  return true;
}

std::string Quoted(const std::vector<std::string>& names) {
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + std::min(names.size(), kMostListed));
  if (shown.size() < names.size()) shown.push_back("…");
  return absl::StrJoin(shown, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "'", name, "'");
  });
}

absl::StatusOr<IdxFiles> ToIdxFiles(const fs::path& images) {
  const std::vector<std::string> names = IdxLabelsNames(images.filename().string());
  if (names.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "'", images.string(),
        "' is a file of unknown kind; known files are tar shards, by names like x.tar, IDX images, "
        "by names like train-images-idx3-ubyte, and arrays that end in .npy; give such a file, a "
        "folder, name "
        "both files in the configuration (datasets[].idx), or say tokens:/FILE,length=N of a file "
        "of tokens"));
  for (const std::string& name : names) {
    std::error_code error;
    const fs::path labels = images.parent_path() / name;
    if (fs::exists(labels, error)) return IdxFiles{images.string(), labels.string()};
  }
  return absl::NotFoundError(absl::StrCat(
      "'", images.string(), "' has no labels file beside it; looked for ", Quoted(names)));
}

struct Listing {
  std::vector<std::string> images;  // names that look like images files
  bool has_folders = false;
};

absl::StatusOr<Listing> List(const std::string& folder) {
  Listing listing;
  std::error_code error;
  size_t entries = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++entries > kMostLookedAt) return Listing{.images = {}, .has_folders = true};
    std::error_code ignored;
    if (at->is_directory(ignored)) listing.has_folders = true;
    const std::string name = at->path().filename().string();
    if (IsIdxImagesName(name)) listing.images.push_back(name);
  }
  if (error) return FromSystem(error, folder);
  std::sort(listing.images.begin(), listing.images.end());
  return listing;
}

}  // namespace

bool IsIdxImagesName(absl::string_view name) {
  return absl::StrContains(name, kImages) &&
         (absl::StrContains(name, "idx3") || absl::StrContains(name, "idx4"));
}

std::vector<std::string> IdxLabelsNames(absl::string_view images) {
  std::string labels(images);
  const bool compressed = absl::EndsWith(labels, ".gz");
  if (compressed) labels.resize(labels.size() - 3);
  if (!ReplaceLast(labels, kImages, kLabels)) return {};
  if (!ReplaceLast(labels, "idx3", "idx1") && !ReplaceLast(labels, "idx4", "idx1")) return {};
  const std::string packed = labels + ".gz";
  return compressed ? std::vector{packed, labels} : std::vector{labels, packed};
}

absl::StatusOr<std::optional<IdxFiles>> FindIdxPair(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) return FromSystem(error, path);
  if (status.type() != fs::file_type::directory) {
    PENSTOCK_ASSIGN_OR_RETURN(IdxFiles files, ToIdxFiles(path));
    return files;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Listing listing, List(path));
  if (listing.images.empty() || listing.has_folders) return std::nullopt;
  if (listing.images.size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' holds several files of IDX images: ", Quoted(listing.images),
                     "; give the path of one of them"));
  PENSTOCK_ASSIGN_OR_RETURN(IdxFiles files, ToIdxFiles(fs::path(path) / listing.images[0]));
  return files;
}

}  // namespace penstock::source
