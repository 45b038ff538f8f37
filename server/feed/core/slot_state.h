// The life of a slot, as a pure function. Only Arena stores a state.
#pragma once

#include <cstdint>
#include <optional>

namespace penstock::feed {

enum class SlotState : uint32_t {
  kFree,       // its bytes mean nothing
  kFilling,    // being decoded for those who hold it
  kHeld,       // full, and somebody has a lease on it
  kCached,     // full, held by nobody; may be held again or filled anew
  kAbandoned,  // nobody wants it any more, but workers may still write into it
};

enum class SlotEvent : uint32_t {
  kBegin,      // it is to hold another batch
  kHold,       // one more session holds it
  kFilled,     // its last row is done
  kLastLetGo,  // the last session let go of it
  kDrained,    // no row of it is in a worker's hands
  kForget,     // what it holds will not be wanted
};

// Nothing where the event cannot happen in that state.
std::optional<SlotState> Next(SlotState state, SlotEvent event);

}  // namespace penstock::feed
