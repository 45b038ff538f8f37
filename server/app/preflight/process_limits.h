// The kernel's limits on this process. Later, a daemon that meets one of them would end without a
// word: a thread that cannot start, or a stack that is too small, leaves nothing to say so.
// **Thread safety**: any thread.
#pragma once

#include <cstddef>

#include "common/base/status.h"

namespace penstock::app {

// **Requires**: the limit of open files has been raised as far as it may be.
//
// **Errors**: FailedPrecondition names the limit that is below what a daemon with its first session
// needs, and where to raise it.
absl::Status CheckProcessLimits();

// What a daemon starts: threads of its own, with the usual stacks, and processes.
struct Starts {
  size_t threads = 0;
  size_t processes = 0;
};

// Starts as many threads, to see whether it may; they end before this returns.
//
// **Errors**: FailedPrecondition names the limits that may be in the way.
absl::Status TryToStart(const Starts& starts);

}  // namespace penstock::app
