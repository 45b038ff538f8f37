// What to tell the service manager, and when: pure, so that a test can play the clock and a runner
// that is stuck. One thread.
//
// What always holds: READY comes once, and only after the daemon was ready; a sign of life only
// when the runner has passed its loop since the last one. A thread that merely counts time would
// keep a daemon alive that has been serving nobody for hours.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "server/feed/stats/views.h"

namespace penstock::app {

class SystemdNotifier {
 public:
  // How long the manager waits for a sign of life; 0: it does not.
  explicit SystemdNotifier(base::Duration watchdog) : watchdog_(watchdog) {}

  // The lines for Notify, empty when there is nothing new. To be asked some five times a second,
  // and more often while not ready.
  std::string Next(const feed::Vitals& vitals, bool ready, base::TimePoint now);
  bool ready() const { return ready_; }

  // Around reading the configuration again (systemd's documentation of sd_notify).
  static std::string Reloading(base::TimePoint now);
  static std::string Reloaded() { return "READY=1"; }

  // When the daemon begins to end, or never began: why.
  static std::string Ending(absl::string_view reason);

 private:
  const base::Duration watchdog_;
  bool ready_ = false;
  std::string status_;
  base::TimePoint status_at_{};
  uint64_t passes_ = 0;
  std::optional<base::TimePoint> alive_at_;  // the last sign
};

}  // namespace penstock::app
