// The state machine of a slot, as a pure function. Only Arena stores a state.
#pragma once

#include <cstdint>
#include <optional>

namespace penstock::feed {

enum class SlotState : uint32_t {
  kFree,       // its content is meaningless
  kFilling,    // being filled for its holders
  kHeld,       // full, with a lease
  kCached,     // full, held by nobody; may be held again or refilled
  kAbandoned,  // nobody wants it, but workers may still write to it
};

enum class SlotEvent : uint32_t {
  kBegin,      // it is to hold another batch
  kHold,       // another session holds it
  kFilled,     // its last row is done
  kLastLetGo,  // the last session released it
  kDropped,    // … and its content must not be found again
  kDrained,    // no row of it is with a worker
  kForget,     // its content is no longer needed
};

// The next state; nullopt if the event is impossible in that state.
std::optional<SlotState> Next(SlotState state, SlotEvent event);

}  // namespace penstock::feed
