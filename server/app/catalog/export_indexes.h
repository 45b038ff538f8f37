// Makes the index files of a dataset's shards, to be put beside them in an object store.
// **Thread safety**: any thread. Reads the shards.
#pragma once

#include <functional>

#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"
#include "server/source/shards/export_index.h"

namespace penstock::app {

// `watch` and `take`: as in source::IndexExport. Returns the number of shards.
// **Errors**: FailedPrecondition: the dataset has no shards; those of source::ListFiles and
// source::ExportIndexFiles.
absl::StatusOr<size_t> ExportIndexes(
    const NamedDataset& named, const OpeningOptions& options,
    const std::function<bool(uint64_t)>& watch,
    const std::function<absl::Status(source::ExportedIndex, size_t shards)>& take);

}  // namespace penstock::app
