// Turns the daemon's answers into the library's own types, the counterpart of request.h. Pure.
// Does not validate the values; the code that uses them does.
#pragma once

#include <cstdint>

#include "client/src/connection/negotiation.h"
#include "client/src/core/grant.h"
#include "client/src/gpu/slabs.h"
#include "client/src/session/slow_stage.h"
#include "penstock/v1/feed.pb.h"

namespace penstock::client {

// What was granted to a session that was opened with `request`, delivered as `ask` says. `depth`:
// batches in GPU memory at once, as requested; 0: the default.
Grant ToGrant(const v1::OpenSessionRequest& request, const Ask& ask, uint32_t depth,
              const v1::OpenSessionResponse& response);

SlabOffer ToSlabOffer(const v1::Slab& slab);
Progress ToProgress(const v1::GetProgressResponse& response);

}  // namespace penstock::client
