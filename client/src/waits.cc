#include "client/src/waits.h"

#include <algorithm>
#include <chrono>

namespace penstock::client {

SessionStats Waits::Count(base::TimePoint now) const {
  using Seconds = std::chrono::duration<double>;
  SessionStats stats;
  stats.batches = batches_;
  stats.batches_ready = batches_ - batches_waited_for_;
  stats.waited_seconds = Seconds(waited_ + since_taken_).count();
  if (batches_ == 0) return stats;
  stats.busy_seconds = std::max(0.0, Seconds(now - began_).count() - stats.waited_seconds);
  return stats;
}

}  // namespace penstock::client
