// Decides who gives up a worker slot when all are taken and a user waits. Pure.
//
// It is a user who holds more worker slots than the one that waits, and has used a turn more of the
// decoders' time. So two users share two worker slots without ever switching, share one by taking
// turns, and a user that needs little does not wait for one that needs all. Workers that were set
// aside count as their user's worker slots, but cannot be given up.
#pragma once

#include <optional>
#include <span>

#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

struct SlotHolder {
  UserId user;
  uint32_t worker_slots = 0, giving_way = 0;
  uint32_t set_aside = 0;  // its workers that occupy no worker slot, but have items
  base::Duration spent{};
};

// `waiting` includes the worker slots that it already holds. Nullopt if it must wait.
std::optional<UserId> WhoGivesWay(const SlotHolder& waiting, std::span<const SlotHolder> holders);

}  // namespace penstock::feed
