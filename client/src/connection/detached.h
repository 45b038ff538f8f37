// Starts a program that outlives this process: a session of its own, no terminal, none of our
// descriptors, no zombie of ours. From any thread, also beside others that hold locks.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::client {

// argv[0] is its path; standard output and error go to the end of `log` (0600). Gives its
// pidfd; an invalid one when it has ended already.
absl::StatusOr<posix::Fd> StartDetached(const std::vector<std::string>& argv,
                                        const std::string& log);

}  // namespace penstock::client
