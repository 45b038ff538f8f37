// Which delivery, by which handle: tries one after the other, best first, and keeps in words why
// one was not taken. Any thread.
#pragma once

#include <functional>
#include <string>

#include "client/src/session/session_core.h"
#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

// One try.
struct Ask {
  Delivery delivery = Delivery::kHost;
  HandleKind handle = HandleKind::kAuto;  // of kDevice; kAuto: the daemon's choice
  std::string reason;                     // why not a better one, in words
};

// What came of it.
struct Tried {
  absl::StatusOr<Opened> opened;
  HandleKind granted = HandleKind::kAuto;  // what the daemon gave and was not usable here
};

struct Wish {
  bool on_device = false;
  bool or_host = false;  // rather than not at all
  Delivery delivery = Delivery::kAuto;
  HandleKind handle = HandleKind::kAuto;
  std::string reason;  // what is known already
};

// Device memory by the wished handle; where that was CUDA IPC and could not be used, and no other
// was demanded, by a VMM descriptor; then pinned; then host. Only what the wish allows. What
// another delivery would not help against (the dataset, the daemon's death, a deadline) ends it at
// once.
absl::StatusOr<Opened> Negotiate(const Wish& wish, const std::function<Tried(const Ask&)>& attempt);

const char* HandlePhrase(HandleKind kind);  // as reasons say it: "CUDA IPC", "VMM", "any"

}  // namespace penstock::client
