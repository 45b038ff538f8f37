// A session request on its way to the engine: what the client asks for, what only the daemon knows,
// and what follows from both. Pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "server/feed/fill/rows.h"
#include "server/feed/identity/fingerprint.h"
#include "server/plan/given_order.h"
#include "server/pool/slot_layout.h"
#include "server/session/grant.h"
#include "server/session/request.h"

namespace penstock::feed {

struct OpenRequest : session::Request {
  uint64_t peer = 0;
  uint32_t user = 0;
  int32_t pid = 0;
  std::string client = {};                     // program and version of the client
  std::shared_ptr<DatasetState> dataset = {};  // shared with the catalogue and the dataset's feeds
  std::optional<plan::Range> part = {};        // the range of the dataset's name; unset: all of it
  // `given_order`; shared with the store that keeps it.
  std::shared_ptr<const plan::GivenOrder> given = {};
  bool canary = false;  // the daemon's own session: counts only in the pool
};

// A request that was matched with its dataset.
struct Opening {
  OpenRequest request;  // completed by session::Fit
  FeedSpec spec;
  uint64_t fingerprint = 0;
  pool::SlotLayout layout;
};

// **Errors**: those of session::Fit.
absl::StatusOr<Opening> Prepare(OpenRequest request);

// The grant, except for what depends on its delivery.
session::Grant MakeGrant(const Opening& opening, uint64_t session);

}  // namespace penstock::feed
