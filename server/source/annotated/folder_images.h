// The images in a folder, wherever they are in it.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/annotated/annotated.h"
#include "server/source/files/tree.h"

namespace penstock::source {

// Their paths, relative to the folder, sorted by their folders and then by their names.
// **Errors**: those of ScanDataset; NotFound if there are none.
absl::StatusOr<std::vector<std::string>> ImagesInFolder(const Tree& tree,
                                                        const AnnotatedOptions& options);

}  // namespace penstock::source
