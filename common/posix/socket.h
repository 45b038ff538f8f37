// Unix sockets that carry messages, credentials and descriptors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/foreign_fd.h"

namespace penstock::posix {

// How many connections may wait to be accepted; the kernel allows net.core.somaxconn at most. Long,
// because a full queue refuses everyone: a non-blocking connect to a Unix socket fails at once, and
// one process that connects in a loop fills a short queue.
inline constexpr int kLongestQueue = 4096;

enum class SocketKind { kStream, kSeqPacket };

// Binds and listens at `path` under umask 0117 (mode 0660) after unlinking a stale socket there.
// Non-blocking, close-on-exec. **Requires**: the caller holds the lock that makes it safe to remove
// a dead daemon's socket.
absl::StatusOr<Fd> Listen(const std::string& path, SocketKind kind);

// **Errors**: Unavailable if nobody listens there; PermissionDenied names the path and the group
// that owns it.
absl::StatusOr<Fd> Connect(const std::string& path, SocketKind kind);

// Whether the process that listens at this stream socket closes a connection before it says
// anything. Waits at most 1 s; a busy one does not hang up. **Errors**: as Connect.
absl::StatusOr<bool> HangsUpAtOnce(const std::string& path);

// The next connection, or null if none is waiting.
absl::StatusOr<ForeignFd> Accept(const Fd& listener);

struct Credentials {
  pid_t pid = 0;  // 0 when the peer is in a sibling PID namespace
  uid_t uid = 0;
  gid_t gid = 0;
};
absl::StatusOr<Credentials> PeerCredentials(const Fd& socket);

// The supplementary groups of the peer (SO_PEERGROUPS).
absl::StatusOr<std::vector<gid_t>> PeerGroups(const Fd& socket);

// A pidfd of the peer by SO_PEERPIDFD. **Errors**: Unimplemented on kernels before 6.5.
absl::StatusOr<Fd> PeerPidfd(const Fd& socket);
bool HasPeerPidfd();  // whether this kernel knows it

inline constexpr size_t kMaxMessageFds = 16;

struct Message {
  std::vector<std::byte> bytes;
  std::vector<Fd> fds;
};

// Sends one SEQPACKET message with at most kMaxMessageFds descriptors. Never blocks.
//
// **Errors**: ResourceExhausted if the peer does not read; Unavailable if it is gone; Aborted for
// reasons that are not this peer's: others have not received too many descriptors yet
// (ETOOMANYREFS), or the system is out of memory (ENOBUFS, ENOMEM).
absl::Status Send(const Fd& socket, std::span<const std::byte> bytes, std::span<const int> fds);

// What to do with descriptors in a message. kDrop: Receive closes files that have no other
// descriptor; call it under a LingerLimit if that must not wait. kTake: the caller gets the
// descriptors and has to close them, which may take for ever.
enum class Descriptors { kTake, kDrop };

// Receives one SEQPACKET message of at most max_bytes. Its descriptors are close-on-exec.
//
// **Errors**: DeadlineExceeded after the timeout; Unavailable if the peer is gone; InvalidArgument
// for a longer message or too many descriptors; ResourceExhausted if this process may open no more
// files.
absl::StatusOr<Message> Receive(const Fd& socket, size_t max_bytes, base::Duration timeout,
                                Descriptors descriptors = Descriptors::kTake);

}  // namespace penstock::posix
