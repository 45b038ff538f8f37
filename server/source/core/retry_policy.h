// How long to go on trying when a source fails: waits that double, until it has taken too long.
// Pure; the thread that reads and waits lives elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/base/clock.h"

namespace penstock::source {

// A read that has not come back for so long is left to a thread of its own, and others go on.
inline constexpr base::Duration kPatience = std::chrono::milliseconds(100);

struct RetryPolicy {
  base::Duration first = std::chrono::milliseconds(10);
  base::Duration longest = std::chrono::seconds(1);
  base::Duration total = std::chrono::seconds(60);  // the configuration's source.retry_for

  // How long to wait before the next attempt, after `failures` ≥ 1 in a row, the first of which was
  // `since_first` ago. Nothing: give up. The last wait ends when `total` is used up.
  std::optional<base::Duration> WaitAfter(uint32_t failures, base::Duration since_first) const {
    if (since_first >= total) return std::nullopt;
    base::Duration wait = std::min(first, longest);
    for (uint32_t i = 1; i < failures && wait < longest; ++i)
      wait = wait > longest / 2 ? longest : wait * 2;
    return std::min(wait, total - since_first);
  }
};

}  // namespace penstock::source
