// This user's private daemon: one per user and node, started by whichever process takes the lock
// first, joined by the others.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::client {

// Where its socket is: in $XDG_RUNTIME_DIR/penstock, else in /tmp/penstock-$UID.
std::string PrivateAddress();

// Makes sure that it runs, and gives its address. Its program is $PENSTOCK_DAEMON, else penstockd
// in the "bin" beside this library's folder, else in $PATH; it lives on when this process ends, in
// a session of its own, and writes to penstockd.log in its directory. PermissionDenied: the
// directory is not ours alone; NotFound: no program; Unavailable: it did not answer in time, with
// its log's last line.
absl::StatusOr<std::string> StartPrivateDaemon(base::Duration timeout);

}  // namespace penstock::client
