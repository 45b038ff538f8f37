// The `idx` source: MNIST and its relatives, a pair of IDX files with images and labels, optionally
// gzip-compressed. Rows are stored as they are. Compressed files are decompressed into memory once;
// others are mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct IdxFiles {
  std::string images, labels;  // absolute
};

struct IdxOptions {
  IdxFiles files;
  // Nothing outside of these is read; empty: the files' own folders.
  std::vector<std::string> roots;
  uint64_t max_unpacked_bytes = uint64_t{1} << 30;  // limit per compressed file
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

// Opens the pair.
// **Errors**: InvalidArgument if a file is not an IDX file, has the wrong size or doesn't match the
// other; DataLoss if gzip data is damaged; ResourceExhausted beyond max_unpacked_bytes; those of
// ResolveUnderRoots. Messages name the file and, where known, the offset.
absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const IdxOptions& options, Parsers& parsers);

// Identifies the files by inode, size and times. Reads neither of them.
absl::StatusOr<FilesStamp> IdxStamp(const IdxOptions& options);

}  // namespace penstock::source
