// A listener at a TCP address.
#pragma once

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/tcp.h"

namespace penstock::posix {

// Non-blocking, close-on-exec; [::] takes IPv4 as well. FailedPrecondition: the port is in use, or
// the address not this machine's; PermissionDenied: a port below 1024. Both with their remedy.
absl::StatusOr<Fd> ListenTcp(const TcpAddress& address, int backlog);

}  // namespace penstock::posix
