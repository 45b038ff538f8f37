// The kernel's limits on this process. Later, a daemon that meets one of them would end without a
// word: a thread that cannot start, or a stack that is too small, leaves nothing to say so.
// **Thread safety**: any thread.
#pragma once

#include <cstddef>

#include "common/base/status.h"

namespace penstock::app {

// A limit of open files is raised as far as it may be; so is done at the start of every daemon.
//
// **Errors**: FailedPrecondition names the limit that is below what a daemon with its first session
// needs, and where to raise it.
absl::Status CheckProcessLimits();

// Whether so many threads can be started, by starting them. They end before this returns.
//
// **Errors**: FailedPrecondition names the limits that may be in the way.
absl::Status TryToStartThreads(size_t count);

}  // namespace penstock::app
