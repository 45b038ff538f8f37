// Who gives a post back when all are taken and somebody waits. Pure.
//
// Whoever holds more worker slots than the one that waits, and has had more of the decoders' time
// by a turn. So two users share two worker slots without ever changing, and one post by taking
// turns; and one that wants little is not kept waiting by one that wants all.
#pragma once

#include <optional>
#include <span>

#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

struct SlotHolder {
  UserId user;
  uint32_t worker_slots = 0, giving_way = 0;
  base::Duration spent{};
};

// `waiting`: with the worker slots that it holds already. Nobody, when it must wait.
std::optional<UserId> WhoGivesWay(const SlotHolder& waiting, std::span<const SlotHolder> holders);

}  // namespace penstock::feed
