#include "server/app/notify.h"

#include <systemd/sd-daemon.h>

namespace penstock::app {
namespace {

constexpr int kKeepEnvironment = 0;

}  // namespace

void Notify(const std::string& lines) {
  if (!lines.empty()) ::sd_notify(kKeepEnvironment, lines.c_str());
}

base::Duration WatchdogTimeout() {
  uint64_t timeout_us = 0;
  if (::sd_watchdog_enabled(kKeepEnvironment, &timeout_us) <= 0) return base::Duration(0);
  return std::chrono::microseconds(timeout_us);
}

}  // namespace penstock::app
