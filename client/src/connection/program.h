// Where the daemon's program is.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::client {

// $PENSTOCK_DAEMON, else penstockd in ../bin or ../../bin of the folder of this library (or of the
// program that it is linked into, where it also may lie beside it), else in $PATH. NotFound says
// where was looked.
absl::StatusOr<std::string> FindDaemonProgram();

}  // namespace penstock::client
