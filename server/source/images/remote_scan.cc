#include "server/source/images/remote_scan.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/source/files/escape.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/python_order.h"
#include "server/source/images/image_names.h"

namespace penstock::source {
namespace {

constexpr uint64_t kLargestPhotograph = std::numeric_limits<uint32_t>::max() - uint64_t{1};
constexpr size_t kMostEmptyNamed = 5;
constexpr uint64_t kOfFolder = sizeof(ScannedFolder) + 128;  // with its place in a map

struct PythonOrder {
  bool operator()(const std::string& a, const std::string& b) const { return PythonLess(a, b); }
};
using FoldersByPath = std::map<std::string, ScannedFolder, PythonOrder>;

// Whether a folder on a disk could hold something of that name.
bool CanBeName(absl::string_view part) { return !part.empty() && part != "." && part != ".."; }

class RemoteScanner {
 public:
  explicit RemoteScanner(const RemoteScanOptions& options) : options_(options) {
    parallel_for_.threads = options.threads;
    if (options.progress) parallel_for_.watch = [this] { return Report(); };
  }

  absl::StatusOr<Scan> Run() && {
    PENSTOCK_RETURN_IF_ERROR(FindClasses());
    std::vector<FoldersByPath> found(classes_.size());
    PENSTOCK_RETURN_IF_ERROR(parallel_for_.ForEach(
        classes_.size(), [&](size_t i) { return ListClass(classes_[i], found[i]); }));
    PENSTOCK_RETURN_IF_ERROR(CheckFilled(found));
    if (options_.progress && !Report()) return absl::CancelledError("indexing was cancelled");
    Scan scan;
    scan.folders.push_back(std::move(root_));
    for (FoldersByPath& folders : found)
      for (auto& [path, folder] : folders) scan.folders.push_back(std::move(folder));
    return scan;
  }

 private:
  bool Report() { return options_.progress({.found = found_.load(), .examined = found_.load()}); }
  std::string Url(absl::string_view below) const {
    return EscapeForDisplay(absl::StrCat(options_.folder, below));
  }

  absl::Status FindClasses() {
    const auto take = [&](const std::vector<RemoteEntry>& page) -> absl::StatusOr<bool> {
      for (const RemoteEntry& entry : page) {
        ++root_.entries;
        if (entry.pin != 0) continue;  // as in ImageFolder, files beside the classes are none
        const std::string name = entry.name.substr(0, entry.name.size() - 1);
        if (!CanBeName(name) || !IsUtf8(name))
          return absl::FailedPreconditionError(absl::StrCat(
              "'", Url(entry.name),
              "': a class's name must not be empty, '.' or '..', and be UTF-8; rename it"));
        PENSTOCK_RETURN_IF_ERROR(memory_.Take(kOfFolder + 4 * name.size(), options_.folder));
        classes_.push_back(name);
      }
      return true;
    };
    PENSTOCK_RETURN_IF_ERROR(
        options_.remote->ListPages(options_.folder, RemoteFiles::Depth::kOneLevel, take));
    root_.device = options_.remote->StoreOf(options_.folder);
    std::sort(classes_.begin(), classes_.end(), PythonOrder());
    if (!classes_.empty()) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(
        "'", Url(""), "' has no class folders: wanted one folder per class, each with files that ",
        "end in ", kImageExtensions, "; got ", root_.entries, " objects, none in a folder"));
  }

  absl::Status ListClass(const std::string& name, FoldersByPath& folders) {
    folders[name].path = name;  // also if all of its files lie below
    const auto take = [&](const std::vector<RemoteEntry>& page) -> absl::StatusOr<bool> {
      for (const RemoteEntry& entry : page)
        PENSTOCK_RETURN_IF_ERROR(Add(absl::StrCat(name, "/", entry.name), entry, folders));
      return true;
    };
    PENSTOCK_RETURN_IF_ERROR(options_.remote->ListPages(absl::StrCat(options_.folder, name, "/"),
                                                        RemoteFiles::Depth::kAll, take));
    for (auto& [path, folder] : folders) PENSTOCK_RETURN_IF_ERROR(Sort(folder));
    return absl::OkStatus();
  }

  absl::Status Add(const std::string& path, const RemoteEntry& entry, FoldersByPath& folders) {
    if (!HasImageExtension(path)) return absl::OkStatus();
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    if (!std::all_of(parts.begin(), parts.end(), CanBeName))
      return absl::FailedPreconditionError(
          absl::StrCat("'", Url(path), "' has a part that is empty, '.' or '..', which no file's ",
                       "path can have; rename it"));
    const size_t slash = path.rfind('/');
    const absl::string_view name = absl::string_view(path).substr(slash + 1);
    if (absl::StrContains(name, '\0'))
      return absl::FailedPreconditionError(
          absl::StrCat("'", Url(path), "' has a NUL byte in its name; rename it"));
    if (entry.bytes > kLargestPhotograph)
      return absl::InvalidArgumentError(absl::StrCat("'", Url(path), "' has ", entry.bytes,
                                                     " bytes, too many for an image; remove it"));
    PENSTOCK_RETURN_IF_ERROR(
        memory_.Take(2 * (sizeof(ScannedFile) + name.size()), options_.folder));
    PENSTOCK_ASSIGN_OR_RETURN(ScannedFolder * found, FolderAt(path.substr(0, slash), folders));
    ScannedFolder& folder = *found;
    if (folder.names.size() > std::numeric_limits<uint32_t>::max() - name.size() - 1)
      return absl::ResourceExhaustedError(
          absl::StrCat("'", Url(folder.path), "' holds too many files; use sub-folders"));
    folder.files.push_back({.name_offset = static_cast<uint32_t>(folder.names.size()),
                            .bytes = entry.bytes,
                            .stamp = entry.pin});
    folder.names.append(name.data(), name.size());
    folder.names.push_back('\0');
    ++folder.entries;
    ++found_;
    return absl::OkStatus();
  }

  absl::StatusOr<ScannedFolder*> FolderAt(const std::string& path, FoldersByPath& folders) {
    const auto there = folders.find(path);
    if (there != folders.end()) return &there->second;
    PENSTOCK_RETURN_IF_ERROR(memory_.Take(kOfFolder + 2 * path.size(), options_.folder));
    ScannedFolder& folder = folders[path];
    folder.path = path;
    return &folder;
  }

  absl::Status Sort(ScannedFolder& folder) const {
    std::vector<ScannedFile>& files = folder.files;
    std::sort(files.begin(), files.end(), [&](const ScannedFile& a, const ScannedFile& b) {
      return PythonLess(folder.NameOf(a), folder.NameOf(b));
    });
    const auto twice = std::adjacent_find(
        files.begin(), files.end(),
        [&](const auto& a, const auto& b) { return folder.NameOf(a) == folder.NameOf(b); });
    if (twice == files.end()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("'", Url(absl::StrCat(folder.path, "/", folder.NameOf(*twice))),
                     "': the store's listing names it twice"));
  }

  absl::Status CheckFilled(const std::vector<FoldersByPath>& found) const {
    std::vector<std::string> empty;
    for (size_t i = 0; i < found.size(); ++i)
      if (std::all_of(found[i].begin(), found[i].end(),
                      [](const auto& each) { return each.second.files.empty(); }))
        empty.push_back(EscapeForDisplay(classes_[i]));
    if (empty.empty()) return absl::OkStatus();
    const size_t more = empty.size() - std::min(empty.size(), kMostEmptyNamed);
    empty.resize(empty.size() - more);
    return absl::NotFoundError(absl::StrCat(
        "found no samples in the class folders ", absl::StrJoin(empty, ", "),
        more > 0 ? absl::StrCat(" and ", more, " more") : "", " of '", Url(""),
        "': looked for objects that end in ", kImageExtensions, "; fill or remove them"));
  }

  const RemoteScanOptions& options_;
  ParallelFor parallel_for_;
  IndexMemory memory_;
  ScannedFolder root_;
  std::vector<std::string> classes_;
  std::atomic<uint64_t> found_{0};
};

}  // namespace

absl::StatusOr<Scan> ScanRemoteFolder(const RemoteScanOptions& options) {
  return RemoteScanner(options).Run();
}

}  // namespace penstock::source
