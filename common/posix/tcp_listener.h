// A listener at a TCP address.
#pragma once

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/tcp.h"

namespace penstock::posix {

// Non-blocking, close-on-exec; [::] takes IPv4 as well. FailedPrecondition: the port is in use, the
// address not this machine's, or no network allowed; PermissionDenied: a port below 1024. Each with
// its remedy.
absl::StatusOr<Fd> ListenTcp(const TcpAddress& address, int backlog);

}  // namespace penstock::posix
