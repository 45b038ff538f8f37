// The `npy` source: NumPy's arrays as files, one tensor each; a sample is one step along the first
// axis of all of them. Files are mapped; rows are stored as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {

struct NpyOptions {
  NpySpec spec;
  std::vector<std::string> roots = {};  // nothing outside is read; none: the files' own folders
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

// InvalidArgument: what is no .npy file of numbers, ends too early or too late, has another length
// than the others, or labels that are none; FileFinder's errors. Each names the file and, where
// there is one, the byte.
absl::StatusOr<std::unique_ptr<Dataset>> OpenNpy(const NpyOptions& options);

// A number that changes when one of the files does. Reads none of them.
absl::StatusOr<FilesStamp> NpyStamp(const NpyOptions& options);

}  // namespace penstock::source
