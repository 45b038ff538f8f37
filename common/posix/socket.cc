#include "common/posix/socket.h"

#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#ifndef SO_PEERPIDFD  // newer than Debian 12's headers
#define SO_PEERPIDFD 77
#endif

namespace penstock::posix {
namespace {

constexpr timeval kConnectTimeout{.tv_sec = 5, .tv_usec = 0};

int TypeOf(SocketKind kind) { return kind == SocketKind::kStream ? SOCK_STREAM : SOCK_SEQPACKET; }

absl::StatusOr<sockaddr_un> ToAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket path '", path, "' has ", path.size(),
                                                   " bytes; 1 to ", sizeof(address.sun_path) - 1,
                                                   " are possible; choose a shorter directory"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

absl::Status UnlinkStale(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::OkStatus() : base::ErrnoStatus(errno, path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, ": this path exists and is not a socket; remove it"));
  }
  if (::unlink(path.c_str()) != 0) {
    return base::ErrnoStatus(errno, absl::StrCat("removing the stale socket ", path));
  }
  return absl::OkStatus();
}

// The status of the socket or, if we may not look at it, of the innermost directory that we may
// look at, which denies us access.
std::optional<struct stat> Barrier(std::string path) {
  struct stat status;
  while (::stat(path.c_str(), &status) != 0) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return std::nullopt;
    path.resize(slash);
  }
  return status;
}

std::string GroupName(gid_t id) {
  char buffer[4096];
  group entry;
  group* found = nullptr;
  ::getgrgid_r(id, &entry, buffer, sizeof(buffer), &found);
  return found == nullptr ? absl::StrCat("group ", id)
                          : absl::StrCat("group '", entry.gr_name, "'");
}

absl::Status NotForUs(const std::string& path) {
  const auto barrier = Barrier(path);
  if (barrier && (barrier->st_mode & S_IRWXG) == 0)
    return absl::PermissionDeniedError(absl::StrCat(path, ": only user ", barrier->st_uid,
                                                    " may connect, and this is user ", ::geteuid(),
                                                    "; use a daemon of your own or a shared one"));
  return absl::PermissionDeniedError(absl::StrCat(
      path, ": user ", ::geteuid(), " is not a member of ",
      barrier ? GroupName(barrier->st_gid) : "its group", "; add it and log in again"));
}

absl::Status ConnectError(int error_number, const std::string& path) {
  switch (error_number) {
    case ENOENT:
    case ECONNREFUSED:
      return absl::UnavailableError(
          absl::StrCat(path, ": no daemon listens here; start it or give another address"));
    case EAGAIN:
      return absl::UnavailableError(
          absl::StrCat(path, ": the daemon accepts no connections; its queue is full"));
    case EACCES:
    case EPERM:
      return NotForUs(path);
    default:
      return base::ErrnoStatus(error_number, absl::StrCat("connecting to ", path));
  }
}

}  // namespace

absl::StatusOr<Fd> Listen(const std::string& path, SocketKind kind) {
  PENSTOCK_ASSIGN_OR_RETURN(const sockaddr_un address, ToAddress(path));
  PENSTOCK_RETURN_IF_ERROR(UnlinkStale(path));
  Fd listener(::socket(AF_UNIX, TypeOf(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return base::ErrnoStatus(errno, "making a socket");
  // The mode must be right from the start, hence umask rather than chmod. The umask also affects
  // files that other threads create at this moment, but the daemon listens before it has other
  // threads.
  const mode_t before = ::umask(0117);
  const int bound = ::bind(listener.get(), Generic(address), sizeof(address));
  const int error = errno;
  ::umask(before);
  if (bound != 0) return base::ErrnoStatus(error, absl::StrCat("binding the socket ", path));
  if (::listen(listener.get(), kLongestQueue) != 0) {
    return base::ErrnoStatus(errno, absl::StrCat("listening at ", path));
  }
  return listener;
}

absl::StatusOr<Fd> Connect(const std::string& path, SocketKind kind) {
  PENSTOCK_ASSIGN_OR_RETURN(const sockaddr_un address, ToAddress(path));
  Fd socket(::socket(AF_UNIX, TypeOf(kind) | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return base::ErrnoStatus(errno, "making a socket");
  // connect(2) on a Unix socket waits for space in the listener's queue, up to the send timeout.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectTimeout, sizeof(kConnectTimeout));
  if (::connect(socket.get(), Generic(address), sizeof(address)) != 0) {
    return ConnectError(errno, path);
  }
  constexpr timeval kNone{};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kNone, sizeof(kNone));
  return socket;
}

absl::StatusOr<bool> HangsUpAtOnce(const std::string& path) {
  constexpr int kPatienceMs = 1000;
  PENSTOCK_ASSIGN_OR_RETURN(const Fd socket, Connect(path, SocketKind::kStream));
  pollfd poll = {.fd = socket.get(), .events = POLLIN, .revents = 0};
  if (::poll(&poll, 1, kPatienceMs) == 0) return false;
  char byte;
  return ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

absl::StatusOr<ForeignFd> Accept(const Fd& listener) {
  for (;;) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) return MakeForeign(std::move(socket));
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return ForeignFd();
    return base::ErrnoStatus(errno, "accepting a connection");
  }
}

absl::StatusOr<Credentials> PeerCredentials(const Fd& socket) {
  ucred peer;
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return base::ErrnoStatus(errno, "asking for the peer's credentials");
  }
  return Credentials{.pid = peer.pid, .uid = peer.uid, .gid = peer.gid};
}

absl::StatusOr<std::vector<gid_t>> PeerGroups(const Fd& socket) {
  std::vector<gid_t> groups(64);
  for (;;) {
    socklen_t size = groups.size() * sizeof(gid_t);
    const int result = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
    if (result != 0 && errno != ERANGE) {
      return base::ErrnoStatus(errno, "asking for the peer's groups");
    }
    groups.resize(size / sizeof(gid_t));  // with ERANGE, `size` is the size needed
    if (result == 0) return groups;
  }
}

absl::StatusOr<Fd> PeerPidfd(const Fd& socket) {
  int number = -1;
  socklen_t size = sizeof(number);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERPIDFD, &number, &size) == 0) return Fd(number);
  if (errno == ENOPROTOOPT) {
    return absl::UnimplementedError("this kernel lacks SO_PEERPIDFD, which Linux 6.5 introduced");
  }
  if (errno == ESRCH || errno == ENODATA) return absl::UnavailableError("the peer is gone");
  return base::ErrnoStatus(errno, "asking for the peer's pidfd");
}

bool HasPeerPidfd() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const Fd one(ends[0]), other(ends[1]);
  return PeerPidfd(one).ok();
}

}  // namespace penstock::posix
