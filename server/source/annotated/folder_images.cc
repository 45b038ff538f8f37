#include "server/source/annotated/folder_images.h"

#include "absl/strings/str_cat.h"
#include "server/source/annotated/opening.h"
#include "server/source/images/image_names.h"
#include "server/source/images/scan.h"

namespace penstock::source {

absl::StatusOr<std::vector<std::string>> ImagesInFolder(const Tree& tree,
                                                        const AnnotatedOptions& options) {
  ScanOptions scan = {.threads = options.threads, .progress = {}, .scan_for = ScanFor::kImages};
  if (options.progress)
    scan.progress = [&](const ScanProgress& progress) { return options.progress(progress.found); };
  PENSTOCK_ASSIGN_OR_RETURN(const Scan found, ScanDataset(tree, scan));
  const ScannedPaths all = CountPaths(found);
  PENSTOCK_RETURN_IF_ERROR(CheckMemoryOfNames(all.count, all.bytes, tree.folder()));
  std::vector<std::string> paths;
  paths.reserve(all.count);
  for (const ScannedFolder& folder : found.folders)
    for (const ScannedFile& file : folder.files) {
      const absl::string_view name = folder.NameOf(file);
      paths.push_back(folder.path.empty() ? std::string(name)
                                          : absl::StrCat(folder.path, "/", name));
    }
  if (!paths.empty()) return paths;
  return absl::NotFoundError(absl::StrCat("'", tree.folder(), "' holds no images: looked for ",
                                          "files that end in ", kImageExtensions));
}

}  // namespace penstock::source
