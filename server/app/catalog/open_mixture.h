// Opens a mixture whose parts are open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"

namespace penstock::app {

struct OpenPart {
  std::string name;
  std::shared_ptr<const source::Dataset> dataset;  // shared with other users of it
  plan::Range range;
  uint64_t files = 0;        // as in DatasetState
  bool all_examined = true;  // as in OpenedDataset
};

// **Errors**: InvalidArgument if the parts are incompatible, or too large together.
absl::StatusOr<OpenedDataset> OpenMixture(const NamedDataset& dataset,
                                          const std::vector<OpenPart>& parts);

}  // namespace penstock::app
