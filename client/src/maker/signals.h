// Waiting and notifying between a maker (a host or a Python worker) and the daemon. An event is
// whatever descriptor the daemon sent for it: an eventfd, or an end of a posix::Notifier. A
// descriptor of another kind makes calls fail, never wait or abort.
#pragma once

#include <poll.h>

#include <span>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::client {

// An entry for WaitForAny.
inline pollfd Readable(const posix::Fd& fd) {
  return {.fd = fd.get(), .events = POLLIN, .revents = 0};
}

// Waits until one of the descriptors is readable or closed, or the deadline has passed. Returns
// early if a signal arrives. `revents` of each entry is set.
absl::Status WaitForAny(std::span<pollfd> entries, base::TimePoint deadline);

// Makes the event unreadable until the next notification. **Requires**: it was readable.
//
// **Errors**: Internal if it is not an event.
absl::Status ClearEvent(const posix::Fd& event);

// Wakes whoever waits for the event. If that fails, nobody listens any more.
void WakeDaemon(const posix::Fd& event);

}  // namespace penstock::client
