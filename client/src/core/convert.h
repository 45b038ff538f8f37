// Between the library's inner words and its public ones.
#pragma once

#include "common/base/status.h"
#include "penstock/finish.h"
#include "penstock/status.h"

namespace penstock::client {

// absl's code to ours; what a caller cannot act on is kInternal.
Status ToPublic(const absl::Status& status);

// An argument of the caller's that will not do.
inline Status Invalid(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

// InvalidArgument: a mean or a standard deviation for batches without images, which would do
// nothing.
Status CheckFinish(const Finish& finish, bool has_image);

// What every call in a forked child says.
Status ForkedStatus();

}  // namespace penstock::client
