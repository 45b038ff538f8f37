// The daemon's address: its own directory, a lock that keeps a second daemon away, and the
// listening socket that gRPC will serve. Claimed before any thread starts, and released at the very
// end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/socket.h"

namespace penstock::doorway {

// What a claim is for, if not for serving.
struct ClaimPurpose {
  // The claim only finds out whether one could be made: its end removes the directory, too, if the
  // claim has created it.
  bool is_trial = false;
  // For a trial: what this daemon holds counts as free, because it will have ended; 0: none.
  pid_t replaced = 0;
};

// Owns the lock on "<path>.lock". The destructor removes both sockets and the lock file. Move-only.
class Claim {
 public:
  Claim(Claim&&) noexcept = default;
  Claim& operator=(Claim&&) = delete;
  ~Claim();

  const std::string& path() const { return path_; }  // path of the gRPC socket
  std::string door_path() const;                     // path of the doorway's socket
  std::optional<gid_t> group() const { return group_; }
  // False for a trial beside the daemon that is to be replaced, which still has the address.
  bool is_held() const { return lock_.valid(); }

  // Unlinks the sockets; the lock is held until the end.
  void RemoveSockets();

  // Returns the listening stream socket for rpc::Server; call once.
  posix::Fd TakeListener() { return std::move(listener_); }

 private:
  friend absl::StatusOr<Claim> ClaimAddress(const std::string& path, const std::string& group,
                                            const ClaimPurpose& purpose);
  Claim(std::string path, std::optional<gid_t> group, posix::Fd lock, posix::Fd listener);

  std::string path_;
  std::optional<gid_t> group_;
  std::string directory_;  // to remove in the end; empty: none
  posix::Fd lock_;
  posix::Fd listener_;
};

// Claims `path` for this process and listens there. `group` (a name or number) may connect in
// addition to our own user; empty means a private daemon. Creates a missing directory (mode 0750
// with the group; 0700 for a private daemon), but not its parent. Replaces a dead daemon's sockets.
//
// **Errors**: PermissionDenied if the directory is a symbolic link, is not ours, or is writable by
// others; AlreadyExists if a running daemon has the address (with its pid), or something that is
// not a socket is there.
absl::StatusOr<Claim> ClaimAddress(const std::string& path, const std::string& group,
                                   const ClaimPurpose& purpose = {});

// Listens at `path` with mode 0660, with the group if one is given.
absl::StatusOr<posix::Fd> ListenForGroup(const std::string& path, posix::SocketKind kind,
                                         std::optional<gid_t> group);

}  // namespace penstock::doorway
