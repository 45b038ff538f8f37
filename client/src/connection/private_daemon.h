// This user's private daemon: one for each user and node. Whichever process takes the lock first
// starts it; the others join. Processes that see other files (in another mount namespace, such as a
// container's, or with another root) have a daemon of their own, because the same path would refer
// to different files here.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::client {

// Whether this is the address of our private daemon: in $XDG_RUNTIME_DIR/penstock, else in
// /tmp/penstock-$UID; or, if the daemon there sees other files than we do, in the same directory
// name followed by "-" and FileViewName().
bool IsPrivateAddress(const std::string& address);

// Starts the private daemon unless it runs, and returns its address.
//
// The program is the one of FindDaemonProgram. It lives on when this process ends, in a session of
// its own, and logs to penstockd.log in its directory.
//
// **Errors**: PermissionDenied: the directory is not ours alone. NotFound: no program. Unavailable:
// it did not answer in time; the message has its log's last line.
absl::StatusOr<std::string> StartPrivateDaemon(base::Duration timeout);

}  // namespace penstock::client
