#include "client/src/session/waits.h"

#include <algorithm>
#include <chrono>

namespace penstock::client {

SessionStats Waits::Count(base::TimePoint now) const {
  using Seconds = std::chrono::duration<double>;
  SessionStats stats;
  const uint64_t waited_for = batches_waited_for_;
  stats.batches = batches_;
  stats.batches_ready = stats.batches - std::min(waited_for, stats.batches);
  stats.waited_seconds = Seconds(waited()).count();
  if (stats.batches == 0) return stats;
  const base::TimePoint began = began_;
  stats.busy_seconds = std::max(0.0, Seconds(now - began).count() - stats.waited_seconds);
  return stats;
}

}  // namespace penstock::client
