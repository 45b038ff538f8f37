// Whether a client means the same objects by a URL as this daemon.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace penstock::rpc {

// The client's, as the request says.
struct StoreVariables {
  uint64_t hash = 0;
  std::string marks = {};
};

// **Errors**: FailedPrecondition: the dataset is a URL, and the client has another environment, in
// which the URL may lead to other objects. Names the variables that differ, and no value.
absl::Status CheckStoreEnvironment(const std::string& dataset, const StoreVariables& theirs);

}  // namespace penstock::rpc
