// What a URL stands for, and opening folders of photographs in object stores.
// **Thread safety**: any thread. Waits for the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"

namespace penstock::app {

// Requests for an index that are under way at a time: they mostly wait for answers.
inline constexpr size_t kRemoteIndexThreads = 64;

// Determines the kind of dataset at a URL: by its name, or, of a folder, by what lies in it: shards
// of one kind, or class folders of photographs. **Errors**: InvalidArgument if it is none of these;
// those of source::RemoteFiles.
absl::StatusOr<NamedDataset> RecogniseUrl(NamedDataset dataset, const OpeningOptions& options);

// Opens the folder of photographs at the URL. `seen`: as in OpenDataset.
absl::StatusOr<OpenedDataset> OpenFolderUrl(const NamedDataset& dataset,
                                            const OpeningOptions& options,
                                            const std::function<bool(uint64_t)>& seen);

}  // namespace penstock::app
