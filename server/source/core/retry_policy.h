// How long to retry when a source fails: exponential back-off up to a total time. Pure: the thread
// that reads and waits is elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/base/back_off.h"
#include "common/base/clock.h"

namespace penstock::source {

// A read that takes longer than this is moved to a thread of its own, so that other reads can
// proceed.
inline constexpr base::Duration kPatience = std::chrono::milliseconds(100);

struct RetryPolicy {
  base::Duration first = std::chrono::milliseconds(10);
  base::Duration longest = std::chrono::seconds(1);
  base::Duration total = std::chrono::seconds(60);  // configuration key source.retry_for

  // How long to wait before the next attempt, after `failures` ≥ 1 consecutive failures, the first
  // of which was `since_first` ago. Nullopt: give up. The last wait ends when `total` is used up.
  std::optional<base::Duration> WaitAfter(uint32_t failures, base::Duration since_first) const {
    if (since_first >= total) return std::nullopt;
    base::BackOff back_off({.first = first, .longest = longest});
    base::Duration wait = back_off.Next();
    for (uint32_t i = 1; i < failures && wait < longest; ++i) wait = back_off.Next();
    return std::min(wait, total - since_first);
  }
};

}  // namespace penstock::source
