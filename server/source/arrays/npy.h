// The `npy` source: NumPy arrays in files, one tensor per file. A sample is one index along the
// first axis of all of them. Files are mapped; rows are stored as they are.
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
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct NpyOptions {
  NpySpec spec;
  // Nothing outside of these is read; empty: the files' own folders.
  std::vector<std::string> roots = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
  RemoteFiles* remote = nullptr;  // finds URLs; null: they are refused
};

// Opens the arrays.
// **Errors**: InvalidArgument if a file is not a .npy file of numbers, has the wrong size, differs
// from the others in length, or its labels are not labels; those of FileFinder. Messages name the
// file and, where known, the offset.
absl::StatusOr<std::unique_ptr<Dataset>> OpenNpy(const NpyOptions& options, Parsers& parsers);

// Identifies the files and their states. Reads none of them.
absl::StatusOr<FilesStamp> NpyStamp(const NpyOptions& options);

}  // namespace penstock::source
