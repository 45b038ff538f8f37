// Converts targets between messages and domain types. Pure; any thread.
#pragma once

#include "common/base/status.h"
#include "common/base/target.h"
#include "penstock/v1/types.pb.h"
#include "server/session/request.h"

namespace penstock::rpc {

// What a session requests as a target.
//
// **Errors**: InvalidArgument says in words which member has what is wrong: an unknown kind or
// format, a fill of more than a byte, pairs that cannot be, a min_side that is no size.
absl::StatusOr<base::TargetSpec> TargetFrom(const v1::Target& message);

// **Errors**: as TargetFrom; names the field.
absl::StatusOr<source::FieldRequest> FieldRequestFrom(const v1::FieldRequest& message);

// **Requires**: `target` is one.
void FillTarget(const base::TargetSpec& target, v1::Target& message);

}  // namespace penstock::rpc
