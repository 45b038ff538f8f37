// Finds the best delivery that works: tries one after the other, best first, and records why the
// better ones failed.
//
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <string>

#include "client/src/session/session_core.h"
#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

// One attempt.
struct Ask {
  Delivery delivery = Delivery::kHost;
  HandleKind handle = HandleKind::kAuto;  // of kDevice; kAuto: the daemon's choice
  std::string reason = {};                // why a better delivery is not possible
};

// Its result.
struct Tried {
  absl::StatusOr<Opened> opened;
  HandleKind granted = HandleKind::kAuto;  // granted by the daemon, even if unusable here
};

// What the session requests.
struct DeliveryRequest {
  bool on_device = false;
  bool or_host = false;  // host memory is acceptable, too
  Delivery delivery = Delivery::kAuto;
  HandleKind handle = HandleKind::kAuto;
  std::string reason = {};  // what is already known
};

// Tries what the request allows, in this order: device memory by the requested handle; if that was
// CUDA IPC, could not be used, and no handle was demanded, by a VMM descriptor; then pinned; then
// host. Stops at once at an error that another delivery would not avoid: the dataset, the daemon's
// death, a deadline.
absl::StatusOr<Opened> Negotiate(const DeliveryRequest& request,
                                 const std::function<Tried(const Ask&)>& attempt);

const char* HandlePhrase(HandleKind kind);  // for messages: "CUDA IPC", "VMM", "any"

}  // namespace penstock::client
