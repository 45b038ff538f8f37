// The `cifar` source: the files of CIFAR-10 and CIFAR-100, in their binary version or their Python
// version. Rows are images of 32 × 32 × 3 bytes, channels last; they are kept in memory, because
// the files have the channels first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/cifar/cifar_spec.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct CifarOptions {
  CifarSpec spec = {};
  std::vector<std::string> roots = {};  // nothing outside of these is read; empty: the folder
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

// **Errors**: NotFound if the folder has no such files, with what it has; InvalidArgument names the
// file and what is wrong with it; ResourceExhausted; those of ResolveUnderRoots.
absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar(const CifarOptions& options, Parsers& parsers);

// Identifies the files by inode, size and times. Reads none of them.
absl::StatusOr<FilesStamp> CifarStamp(const CifarOptions& options);

}  // namespace penstock::source
