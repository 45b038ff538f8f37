// Starts a program that outlives this process: in a process group of its own, so that neither
// Ctrl-C nor the end of the terminal ends it, without our descriptors, and without leaving us a
// zombie.
//
// It stays in our session. Where the kernel first shares cores among sessions (its autogroups), it
// competes with other sessions as part of ours, as our own threads do; within ours its workers,
// which have the lowest priority, give way to us. A session of its own would take as much as all of
// our threads together, or, if it gave way as a whole, nothing beside anybody's compiler.
//
// **Thread safety**: any thread, even while other threads hold locks.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::client {

// argv[0] is the program's path. Its standard output and error are appended to `log` (mode 0600).
// Returns the program's pidfd, or an invalid one if it has already ended.
absl::StatusOr<posix::Fd> StartDetached(const std::vector<std::string>& argv,
                                        const std::string& log);

}  // namespace penstock::client
