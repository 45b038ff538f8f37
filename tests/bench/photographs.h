// The photographs to measure with: a given folder, or generated ones in a temporary folder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "tests/bench/harness/arguments.h"
#include "tests/bench/harness/scratch.h"

namespace penstock::bench {

class Photographs {
 public:
  // Upper limit. From a larger dataset, evenly spaced photographs are used, through links.
  static constexpr uint64_t kMost = 1024;

  // Follows --data and --small. InvalidArgument: the folder is not a dataset.
  static absl::StatusOr<Photographs> Open(const Arguments& arguments);

  const std::string& folder() const { return folder_; }             // absolute
  const std::vector<std::string>& roots() const { return roots_; }  // contain all files
  const std::string& description() const { return description_; }
  const source::Dataset& dataset() const { return *dataset_; }

  // The bytes of the first samples in the dataset's order, at most `at_most`.
  absl::StatusOr<std::vector<std::vector<std::byte>>> Load(size_t at_most) const;

 private:
  Photographs() = default;
  absl::Status OpenDataset();
  absl::Status TakeSome();

  std::optional<ScratchFolder> scratch_;  // for generated photographs or for links
  std::string folder_;
  std::vector<std::string> roots_;
  std::string description_;
  std::unique_ptr<source::Dataset> dataset_;
};

}  // namespace penstock::bench
