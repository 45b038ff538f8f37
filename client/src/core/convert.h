// Converts between the library's internal types and its public ones.
#pragma once

#include "client/finish/finish.h"
#include "common/base/status.h"
#include "penstock/finish.h"
#include "penstock/status.h"

namespace penstock::client {

// Maps absl's codes to ours. Codes that a caller cannot act on become kInternal.
Status ToPublic(const absl::Status& status);

// A caller's argument is invalid.
inline Status Invalid(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

// InvalidArgument for a mean or a standard deviation if batches have no images: it would do
// nothing.
Status CheckFinish(const Finish& finish, bool has_image);

// InvalidArgument for more channels than the finish has coefficients.
absl::StatusOr<finish::Spec> ToFinishSpec(const Finish& finish, const Shape& shape);

// The error of every call in a forked child.
Status ForkedStatus();

}  // namespace penstock::client
