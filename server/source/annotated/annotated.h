// The kinds `pairs`, `coco`, `voc` and `yolo`: images with masks or annotations (see ../README.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/annotated/annotated_spec.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct AnnotatedOptions {
  AnnotatedSpec spec = {};
  // Nothing outside of these is read; empty: what the specification names.
  std::vector<std::string> roots = {};
  size_t threads = 1;  // for examining and reading files
  // Called with the number of files so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedAnnotated {
  std::unique_ptr<Dataset> dataset;
  std::string warning = {};   // what is left out; empty: nothing
  std::string identity = {};  // of all files, in their states
};

// Reads the annotations and examines all files.
// **Errors**: those of ResolveUnderRoots, the parsers and Tree::OpenBeneath; NotFound names a mask
// or a file of annotations that is missing; Aborted if a file changes while it is read.
absl::StatusOr<OpenedAnnotated> OpenAnnotated(const AnnotatedOptions& options, Parsers& parsers);

}  // namespace penstock::source
