// The `idx` source: MNIST and its relatives, images and labels as a pair of IDX files, gzip or not.
// Rows are stored as they are. Compressed files are unpacked into memory once; the others are
// mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {

struct IdxFiles {
  std::string images, labels;  // absolute
};

struct IdxOptions {
  IdxFiles files;
  std::vector<std::string> roots;  // nothing outside of these is read; none: the files' own folders
  uint64_t max_unpacked_bytes = uint64_t{1} << 30;  // of a compressed file
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

// InvalidArgument: what is no IDX file, or ends too early or too late, or does not fit its pair;
// DataLoss: gzip data that is damaged; ResourceExhausted: more than max_unpacked_bytes;
// ResolveUnderRoots' errors. Each names the file and, where there is one, the place in it.
absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const IdxOptions& options);

// A number that changes when one of the files does: which files they are, their sizes and times.
// Reads neither of them.
absl::StatusOr<FilesStamp> IdxStamp(const IdxOptions& options);

}  // namespace penstock::source
