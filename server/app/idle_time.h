// How long the daemon has been unused. Pure; one thread.
#pragma once

#include <optional>

#include "common/base/clock.h"

namespace penstock::app {

class IdleTime {
 public:
  // Returns how long it has been unused. Time counts from the first call.
  base::Duration Update(bool is_needed, base::TimePoint now) {
    if (is_needed || !since_) since_ = now;
    return now - *since_;
  }

 private:
  std::optional<base::TimePoint> since_;
};

}  // namespace penstock::app
