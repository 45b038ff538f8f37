// Communication with the service manager that started us (systemd's sd_notify). Does nothing if
// $NOTIFY_SOCKET is not set.
// **Thread safety**: only the main thread.
#pragma once

#include <string>

#include "common/base/clock.h"

namespace penstock::app {

// Sends lines as in sd_notify(3): "READY=1\nSTATUS=serving". Does nothing if empty. Failures are
// ignored.
void Notify(const std::string& lines);

// The manager's watchdog time-out; 0: none.
base::Duration WatchdogTimeout();

}  // namespace penstock::app
