// Who gives a post back when all are taken and somebody waits. Pure.
//
// Whoever holds more posts than the one that waits, and has had more of the decoders' time by a
// turn. So two users share two posts without ever changing, and one post by taking turns; and one
// that wants little is not kept waiting by one that wants all.
#pragma once

#include <optional>
#include <span>

#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

struct PostHolder {
  UserId user;
  uint32_t posts = 0, giving_way = 0;
  base::Duration spent{};
};

// `waiting`: with the posts that it holds already. Nobody, when it must wait.
std::optional<UserId> WhoGivesWay(const PostHolder& waiting, std::span<const PostHolder> holders);

}  // namespace penstock::feed
