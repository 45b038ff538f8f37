// Memory for what is read when a dataset is opened. A small file can ask for a lot of it: a sparse
// file of labels takes no space on disk.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

// Whether the daemon may take this much: at most half of what the machine and its cgroups leave, so
// that one dataset does not end everybody's daemon. Amounts below 16 MiB are always allowed.
//
// **Errors**: ResourceExhausted names the file and both amounts.
absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path);

// The same, for a machine that leaves `available`. Pure.
absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path, uint64_t available);

}  // namespace penstock::source
