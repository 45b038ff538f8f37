// This user's private daemon: one per user and node, started by whichever process takes the lock
// first, joined by the others. Processes that see other files (in another mount namespace, such as
// a container's, or with another root) have a daemon of their own, since a path would mean other
// files to this one.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::client {

// Whether this is where our private daemon's socket is: in $XDG_RUNTIME_DIR/penstock, else in
// /tmp/penstock-$UID; or, where the daemon there sees other files than we do, in the same with
// FileViewName() behind it.
bool IsPrivateAddress(const std::string& address);

// Makes sure that it runs, and gives its address. Its program is $PENSTOCK_DAEMON, else penstockd
// in the "bin" beside this library's folder, else in $PATH; it lives on when this process ends, in
// a session of its own, and writes to penstockd.log in its directory. PermissionDenied: the
// directory is not ours alone; NotFound: no program; Unavailable: it did not answer in time, with
// its log's last line.
absl::StatusOr<std::string> StartPrivateDaemon(base::Duration timeout);

}  // namespace penstock::client
