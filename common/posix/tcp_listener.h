// A listener at a TCP address.
#pragma once

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/tcp.h"

namespace penstock::posix {

// Listens at a TCP address. Non-blocking, close-on-exec; [::] accepts IPv4 as well.
//
// **Errors**, each with its remedy: FailedPrecondition if the port is in use, the address is not
// this machine's, or the network is not allowed; PermissionDenied for a port below 1024.
absl::StatusOr<Fd> ListenTcp(const TcpAddress& address, int backlog);

}  // namespace penstock::posix
