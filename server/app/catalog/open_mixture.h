// A mixture of datasets that are open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"

namespace penstock::app {

struct OpenPart {
  std::string name;
  std::shared_ptr<const source::Dataset> dataset;  // shared with whoever else opened it
  plan::Range range;
  uint64_t files = 0;        // DatasetState's
  bool all_examined = true;  // OpenedDataset's
};

// InvalidArgument: the parts do not go together, or are too much together.
absl::StatusOr<OpenedDataset> OpenMixture(const NamedDataset& dataset,
                                          const std::vector<OpenPart>& parts);

}  // namespace penstock::app
