// The daemon's address: a directory of its own, a lock that keeps a second daemon away, and the
// listening socket that gRPC will serve. Claimed before any thread is started; given back at the
// very end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/socket.h"

namespace penstock::doorway {

// Owns the lock on "<path>.lock". Destruction removes the socket, the doorway's socket and the lock
// file. Move-only.
class Claim {
 public:
  Claim(Claim&&) noexcept = default;
  Claim& operator=(Claim&&) = delete;
  ~Claim();

  const std::string& path() const { return path_; }  // of the gRPC socket
  std::string door_path() const;                     // of the doorway's
  std::optional<gid_t> group() const { return group_; }

  // Takes the sockets' names away; the lock stays until the end.
  void RemoveSockets();

  // The listening stream socket, once: for rpc::Server.
  posix::Fd TakeListener() { return std::move(listener_); }

 private:
  friend absl::StatusOr<Claim> ClaimAddress(const std::string& path, const std::string& group);
  Claim(std::string path, std::optional<gid_t> group, posix::Fd lock, posix::Fd listener);

  std::string path_;
  std::optional<gid_t> group_;
  posix::Fd lock_;
  posix::Fd listener_;
};

// Claims `path` for this process and listens there. `group`, a name or a number, may connect beside
// our own user; empty: a private daemon. The directory is made when missing (0750 of the group;
// 0700 for a private daemon), its parent is not. Refused: a directory that is a symbolic link, is
// not ours, or that others may write to (PermissionDenied); a living daemon's address
// (AlreadyExists names its pid). A dead daemon's sockets are replaced.
absl::StatusOr<Claim> ClaimAddress(const std::string& path, const std::string& group);

// Listens at `path` with mode 0660, of that group where one is given.
absl::StatusOr<posix::Fd> ListenForGroup(const std::string& path, posix::SocketKind kind,
                                         std::optional<gid_t> group);

}  // namespace penstock::doorway
