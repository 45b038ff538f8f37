// For builds without libsystemd.
#include <cstdlib>

#include "common/telemetry/log.h"
#include "server/app/notify.h"

namespace penstock::app {

void Notify(const std::string&) {
  static const bool awaited = std::getenv("NOTIFY_SOCKET") != nullptr;
  static bool said = false;  // main thread only
  if (!awaited || said) return;
  said = true;
  PENSTOCK_LOG(kError, "cannot_notify",
               {"reason",
                "the service manager expects a notification, but this build has no libsystemd; "
                "build with libsystemd-dev, or make the unit Type=exec"});
}

base::Duration WatchdogTimeout() { return base::Duration(0); }

}  // namespace penstock::app
