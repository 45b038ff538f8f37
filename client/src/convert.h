// Between the library's inner words and its public ones.
#pragma once

#include "common/base/status.h"
#include "penstock/status.h"

namespace penstock::client {

// absl's code to ours; what a caller cannot act on is kInternal.
Status ToPublic(const absl::Status& status);

// What every call in a forked child says.
Status ForkedStatus();

}  // namespace penstock::client
