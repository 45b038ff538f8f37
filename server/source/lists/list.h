// The `list` source: images that a list names, with labels and columns of numbers (see
// ../README.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/lists/list_spec.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct ListOptions {
  ListSpec spec = {};
  std::vector<std::string> roots =
      {};              // nothing outside of these is read; empty: the list's folder
  size_t threads = 1;  // for examining the files
  // Called with the number of rows or files so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedList {
  std::unique_ptr<Dataset> dataset;
  std::string warning = {};   // columns that are left out; empty: none
  std::string identity = {};  // of the list and all files, in their states
};

// Reads the list and examines all files that it names.
// **Errors**: those of ResolveUnderRoots, ScanList and Tree::OpenBeneath, with the list's line;
// ResourceExhausted; Aborted if the list changes meanwhile.
absl::StatusOr<OpenedList> OpenList(const ListOptions& options, Parsers& parsers);

}  // namespace penstock::source
