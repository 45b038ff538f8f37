// Whether a client means the same objects by a URL as this daemon.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace penstock::rpc {

// `theirs`: as the request says. **Errors**: FailedPrecondition: the dataset is a URL, and the
// client has another environment, in which the URL may lead to other objects.
absl::Status CheckStoreEnvironment(const std::string& dataset, uint64_t theirs);

}  // namespace penstock::rpc
