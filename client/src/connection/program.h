// Finds the daemon's program.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::client {

// Returns $PENSTOCK_DAEMON if set, else penstockd in ../bin, ../../bin or . of the folder that this
// library (or the program it is linked into) was loaded from, else in $PATH.
//
// **Errors**: NotFound lists the places that were tried.
absl::StatusOr<std::string> FindDaemonProgram();

}  // namespace penstock::client
