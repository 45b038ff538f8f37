// What the service manager that started us is told (sd_notify of systemd), and what it asks for.
// Where none did ($NOTIFY_SOCKET is not set), nothing is said. The main thread alone.
#pragma once

#include <string>

#include "common/base/clock.h"

namespace penstock::app {

// Lines as sd_notify(3) has them: "READY=1\nSTATUS=serving". Empty: nothing. Whether anybody hears
// it makes no difference to us.
void Notify(const std::string& lines);

// How long the manager waits for a sign of life before it ends us; 0: it does not.
base::Duration WatchdogTimeout();

}  // namespace penstock::app
