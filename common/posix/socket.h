// Unix sockets that carry messages, credentials and descriptors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::posix {

enum class SocketKind { kStream, kSeqPacket };

// Binds and listens at `path` under umask 0117 (so 0660). The caller holds the lock that makes it
// safe to remove a dead daemon's socket first; this function unlinks a stale one. Non-blocking,
// close-on-exec.
absl::StatusOr<Fd> Listen(const std::string& path, SocketKind kind);

// Unavailable: nobody listens there; PermissionDenied names the path and says which group owns it.
absl::StatusOr<Fd> Connect(const std::string& path, SocketKind kind);

// The next connection, or nothing when there is none now.
absl::StatusOr<std::optional<Fd>> Accept(const Fd& listener);

struct Credentials {
  pid_t pid = 0;  // 0 when the peer is in a sibling PID namespace
  uid_t uid = 0;
  gid_t gid = 0;
};
absl::StatusOr<Credentials> PeerCredentials(const Fd& socket);

// The supplementary groups of the peer (SO_PEERGROUPS).
absl::StatusOr<std::vector<gid_t>> PeerGroups(const Fd& socket);

// A pidfd of the peer by SO_PEERPIDFD; Unimplemented where the kernel (before 6.5) has none.
absl::StatusOr<Fd> PeerPidfd(const Fd& socket);

inline constexpr size_t kMaxMessageFds = 16;

struct Message {
  std::vector<std::byte> bytes;
  std::vector<Fd> fds;
};

// One SEQPACKET message with at most kMaxMessageFds descriptors, never blocking. ResourceExhausted
// when the peer does not read; Unavailable when it is gone; Aborted when descriptors that others
// did not receive yet are in the way (ETOOMANYREFS), or the system has no memory for it (ENOBUFS,
// ENOMEM), which says nothing about this peer.
absl::Status Send(const Fd& socket, std::span<const std::byte> bytes, std::span<const int> fds);

// One SEQPACKET message of at most max_bytes; waits until the timeout (DeadlineExceeded).
// Unavailable when the peer is gone. A longer message or too many descriptors are InvalidArgument;
// ResourceExhausted when this process may open no more files. Descriptors are close-on-exec.
absl::StatusOr<Message> Receive(const Fd& socket, size_t max_bytes, base::Duration timeout);

}  // namespace penstock::posix
