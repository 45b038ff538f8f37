// A pool whose new slots go to a core, and which keeps all of its segments.
#pragma once

#include <gtest/gtest.h>

#include <span>

#include "server/feed/core/core.h"
#include "server/pool/pool.h"

namespace penstock::feed {

// **Requires**: the core outlives the pool.
inline pool::Pool MakeCorePool(Core& core, uint64_t segment_bytes) {
  const auto add_slots = [&core](const pool::Segment& segment) {
    for (uint32_t slot : segment.slots) {
      const SlotId id{slot};
      core.AddSlots(ArenaId(segment.arena), std::span(&id, 1));
    }
    return absl::OkStatus();
  };
  return pool::Pool({.max_bytes = 1 << 20, .segment_bytes = segment_bytes},
                    {.made = add_slots, .give_up = [](const pool::Segment&) { return false; }});
}

}  // namespace penstock::feed
