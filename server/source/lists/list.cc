#include "server/source/lists/list.h"

#include <utility>

#include "server/source/files/listing.h"
#include "server/source/files/roots.h"
#include "server/source/files/tree_file.h"
#include "server/source/lists/image_list.h"

namespace penstock::source {
namespace {

constexpr char kListKind[] = "list";

std::string FolderOfList(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == 0 ? "/" : file.substr(0, slash);
}

absl::StatusOr<Tree> OpenRoot(const ListOptions& options) {
  const std::string folder =
      options.spec.root.empty() ? FolderOfList(options.spec.file) : options.spec.root;
  std::vector<std::string> roots = options.roots;
  if (roots.empty()) roots.push_back(folder);
  auto real = ResolveUnderRoots(folder, roots);
  if (!real.ok()) return base::Annotate(real.status(), "opening a dataset");
  return Tree::Open(*real, CanonicalRoots(roots), options.confinement);
}

absl::StatusOr<ScannedList> ReadRows(const TreeFile& file, const ListOptions& options,
                                     Parsers& parsers) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd opened, file.Open());
  PENSTOCK_ASSIGN_OR_RETURN(const FileState state, file.StateOf(opened));
  if (state.bytes > kMostListBytes)
    return absl::InvalidArgumentError(absl::StrCat("'", file.path(), "' has ", state.bytes,
                                                   " bytes, expected a list of at most ",
                                                   kMostListBytes, "; split it"));
  uint64_t rows = 0;
  ScanWatch watch;
  if (options.progress) {
    watch.found = [&](uint64_t more) { rows += more; };
    watch.cancelled = [&] { return !options.progress(rows); };
  }
  return parsers.ReadList({.fd = opened, .path = file.path(), .bytes = state.bytes}, options.spec,
                          watch);
}

absl::StatusOr<ImageList> ToImageList(ScannedList scanned, const Tree& tree,
                                      const std::string& file) {
  ImageList list = {.labeled = scanned.labeled,
                    .labels = std::move(scanned.labels),
                    .classes = std::move(scanned.classes),
                    .columns = std::move(scanned.columns)};
  PENSTOCK_RETURN_IF_ERROR(
      AddRows(scanned.rows, scanned.paths, FromFolder(tree.folder()), file, list));
  return list;
}

std::string WarningOf(const ScannedList& scanned, const std::string& path) {
  if (scanned.left_out.empty()) return "";
  return absl::StrCat("'", path,
                      "': these columns are not delivered, because not all of their "
                      "cells are numbers: ",
                      scanned.left_out);
}

}  // namespace

// The list is read between two looks at its state, so that rows of two versions are never mixed.
absl::StatusOr<OpenedList> OpenList(const ListOptions& options, Parsers& parsers) {
  FileFinder finder(options.roots, options.confinement);
  const std::string paths[] = {options.spec.file};
  PENSTOCK_ASSIGN_OR_RETURN(const TreeFile file, finder.Find(options.spec.file));
  PENSTOCK_ASSIGN_OR_RETURN(FilesStamp before, finder.Stamp(paths));
  if (WaitForTick(before.changed_ns) == Waited::kYes) {
    PENSTOCK_ASSIGN_OR_RETURN(before, finder.Stamp(paths));
  }
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree, OpenRoot(options));
  PENSTOCK_ASSIGN_OR_RETURN(ScannedList scanned, ReadRows(file, options, parsers));
  PENSTOCK_ASSIGN_OR_RETURN(const FilesStamp after, finder.Stamp(paths));
  if (before.stamp != after.stamp)
    return absl::AbortedError(absl::StrCat(
        "'", file.path(), "' changed while it was read; open it again when it is complete"));
  OpenedList opened;
  opened.warning = WarningOf(scanned, file.path());
  PENSTOCK_ASSIGN_OR_RETURN(ImageList list, ToImageList(std::move(scanned), tree, file.path()));
  PENSTOCK_ASSIGN_OR_RETURN(
      const uint64_t states,
      Examine(tree, list,
              {.threads = options.threads, .list = file.path(), .progress = options.progress}));
  opened.dataset = MakeImageList(kListKind, std::move(tree), std::move(list));
  opened.identity =
      absl::StrCat(after.stamp, ".", absl::Hex(opened.dataset->digest(), absl::kZeroPad16),
                   absl::Hex(states, absl::kZeroPad16));
  return opened;
}

}  // namespace penstock::source
