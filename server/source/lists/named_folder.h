// A folder of images whose labels are part of their paths, such as `Abyssinian_1.jpg`: a regular
// expression says which part (see ../README.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"

namespace penstock::source {

struct NamedFolderSpec {
  std::string folder = {};  // absolute
  std::string pattern =
      {};  // RE2, with one group; matches a path relative to the folder as a whole
  bool operator==(const NamedFolderSpec&) const = default;
};

// **Errors**: InvalidArgument for a folder that is not absolute, and a pattern that is invalid or
// has another number of groups than one.
absl::Status Validate(const NamedFolderSpec& spec);

// Text form: "folder:/data/images,label=PATTERN". The pattern is all that follows `label=`.
bool IsNamedFolderText(absl::string_view text);
absl::StatusOr<NamedFolderSpec> ParseNamedFolderText(absl::string_view text);
std::string ToString(const NamedFolderSpec& spec);

struct NamedFolderOptions {
  NamedFolderSpec spec = {};
  std::vector<std::string> roots = {};  // nothing outside of these is read; empty: the folder alone
  size_t threads = 1;
  // Called with the number of files so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

struct OpenedNamedFolder {
  std::unique_ptr<Dataset> dataset;
  std::string identity = {};  // of all files, in their states
};

// Lists the folder and examines all of its images. Samples are in the order of their folders, then
// of their names, both as Python sorts them.
// **Errors**: those of ResolveUnderRoots and ScanDataset; InvalidArgument names the first image
// whose path the pattern does not match, or whose label is wrong.
absl::StatusOr<OpenedNamedFolder> OpenNamedFolder(const NamedFolderOptions& options);

}  // namespace penstock::source
