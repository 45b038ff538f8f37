// Starts a program that outlives this process: in a session of its own, without a terminal, without
// our descriptors, and without leaving us a zombie.
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
