#include "server/feed/core/slot_state.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace penstock::feed {
namespace {

using State = SlotState;
using Event = SlotEvent;

const std::map<std::pair<State, Event>, State> kLegal = {
    {{State::kFree, Event::kBegin}, State::kFilling},
    {{State::kFilling, Event::kHold}, State::kFilling},
    {{State::kFilling, Event::kFilled}, State::kHeld},
    {{State::kFilling, Event::kLastLetGo}, State::kAbandoned},
    {{State::kFilling, Event::kDropped}, State::kAbandoned},
    {{State::kHeld, Event::kDropped}, State::kFree},
    {{State::kHeld, Event::kHold}, State::kHeld},
    {{State::kHeld, Event::kLastLetGo}, State::kCached},
    {{State::kCached, Event::kHold}, State::kHeld},
    {{State::kCached, Event::kBegin}, State::kFilling},
    {{State::kCached, Event::kForget}, State::kFree},
    {{State::kAbandoned, Event::kDrained}, State::kFree},
};

TEST(SlotStateTest, EveryPairThatIsNotListedIsIllegal) {
  for (State state :
       {State::kFree, State::kFilling, State::kHeld, State::kCached, State::kAbandoned}) {
    for (Event event : {Event::kBegin, Event::kHold, Event::kFilled, Event::kLastLetGo,
                        Event::kDropped, Event::kDrained, Event::kForget}) {
      const auto legal = kLegal.find({state, event});
      const std::optional<State> next = Next(state, event);

      ASSERT_EQ(next.has_value(), legal != kLegal.end())
          << static_cast<int>(state) << " " << static_cast<int>(event);
      if (next) {
        EXPECT_EQ(*next, legal->second);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::feed
