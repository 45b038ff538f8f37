#include "server/feed/core/slot_state.h"

namespace penstock::feed {

std::optional<SlotState> Next(SlotState state, SlotEvent event) {
  switch (state) {
    case SlotState::kFree:
      if (event == SlotEvent::kBegin) return SlotState::kFilling;
      break;
    case SlotState::kFilling:
      if (event == SlotEvent::kHold) return SlotState::kFilling;
      if (event == SlotEvent::kFilled) return SlotState::kHeld;
      if (event == SlotEvent::kLastLetGo) return SlotState::kAbandoned;
      if (event == SlotEvent::kDropped) return SlotState::kAbandoned;
      break;
    case SlotState::kHeld:
      if (event == SlotEvent::kHold) return SlotState::kHeld;
      if (event == SlotEvent::kLastLetGo) return SlotState::kCached;
      if (event == SlotEvent::kDropped) return SlotState::kFree;
      break;
    case SlotState::kCached:
      if (event == SlotEvent::kHold) return SlotState::kHeld;
      if (event == SlotEvent::kBegin) return SlotState::kFilling;
      if (event == SlotEvent::kForget) return SlotState::kFree;
      break;
    case SlotState::kAbandoned:
      if (event == SlotEvent::kDrained) return SlotState::kFree;
      break;
  }
  return std::nullopt;
}

}  // namespace penstock::feed
