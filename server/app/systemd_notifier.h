// Decides what to tell the service manager, and when. Pure, so that a test can simulate time and a
// stuck runner. One thread.
//
// Invariants: READY is sent once, after the daemon is ready. A keep-alive is sent only if the
// runner has completed a loop since the last one; otherwise a daemon that has served nobody for
// hours would be kept running.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "server/feed/stats/views.h"

namespace penstock::app {

class SystemdNotifier {
 public:
  // `watchdog`: the manager's time-out for keep-alives; 0: none.
  explicit SystemdNotifier(base::Duration watchdog) : watchdog_(watchdog) {}

  // The lines for Notify; empty if there is nothing new. Call it about five times a second, more
  // often while not ready.
  std::string Next(const feed::Vitals& vitals, bool ready, base::TimePoint now);
  bool ready() const { return ready_; }

  // Sent before and after a reload (see systemd's documentation of sd_notify).
  static std::string Reloading(base::TimePoint now);
  static std::string Reloaded() { return "READY=1"; }

  // Sent when the daemon begins to drain because it was asked to end: the manager then waits for
  // that long, even if its own time-out is shorter.
  static std::string Draining(base::Duration at_most);

  // Sent when the daemon ends, or fails to start, with the reason.
  static std::string Ending(absl::string_view reason);

 private:
  const base::Duration watchdog_;
  bool ready_ = false;
  std::string status_;
  base::TimePoint status_at_{};
  uint64_t passes_ = 0;
  std::optional<base::TimePoint> alive_at_;  // the last keep-alive
};

}  // namespace penstock::app
