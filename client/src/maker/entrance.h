// How a host or a Python worker enters the daemon: its handshake, and the one message that follows
// the welcome, which carries the memory that both sides share.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/doorway_wire.h"

namespace penstock::client {

// From the session's grant (doorway_wire.h).
using HostToken = std::array<unsigned char, shm::kHostTokenBytes>;

// What the daemon keeps with a maker until either side ends.
struct Entrance {
  posix::Fd socket;
  posix::Mapping memory;       // a PythonHostPage or a PythonChannel, writable
  posix::Fd to_us, to_daemon;  // events
};

// Enters with this handshake, and maps the memory of `bytes` bytes that the daemon sends in a
// message of kind `awaited`. Takes at most `timeout` after the connection is made.
//
// **Errors**: as Greet; Internal if the daemon sends something else or memory of another size;
// DeadlineExceeded if it sends nothing.
absl::StatusOr<Entrance> EnterAsMaker(const std::string& address,
                                      std::span<const std::byte> handshake,
                                      shm::DoorwayKind awaited, size_t bytes,
                                      base::Duration timeout);

// Closes each of this process's other sockets that is connected to the same doorway or to the gRPC
// socket beside it. A forked child calls it, because as long as it holds its parent's connections,
// the daemon cannot see that its parent closed them.
//
// **Errors**: from reading /proc/self/fd. **Requires**: nobody uses those sockets in this process.
absl::Status CloseInheritedSockets(const posix::Fd& doorway);

}  // namespace penstock::client
