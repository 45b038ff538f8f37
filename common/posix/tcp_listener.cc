#include "common/posix/tcp_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace penstock::posix {
namespace {

absl::Status CannotListen(const TcpAddress& address, int error) {
  const std::string what = absl::StrCat("listening on ", address.ToString());
  if (error == EADDRINUSE)
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": the port is in use; 'ss -ltnp' shows by whom; choose another port"));
  if (error == EAFNOSUPPORT)
    return absl::FailedPreconditionError(absl::StrCat(
        what, ": this process may not use the network, or the system has no ",
        address.v6 ? "IPv6" : "IPv4", "; under systemd, install the drop-in network.conf"));
  if (error == EADDRNOTAVAIL)
    return absl::FailedPreconditionError(absl::StrCat(
        what, ": this machine does not have that address; 'ip address' lists its addresses"));
  return base::ErrnoStatus(error, what, error == EACCES ? "choose a port above 1023" : "");
}

struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
};

SocketAddress ToSocketAddress(const TcpAddress& address) {
  SocketAddress result;
  if (address.v6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(result.bytes);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    ::inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
    result.size = sizeof(v6);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(result.bytes);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    ::inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr);
    result.size = sizeof(v4);
  }
  return result;
}

}  // namespace

absl::StatusOr<Fd> ListenTcp(const TcpAddress& address, int backlog) {
  const int family = address.v6 ? AF_INET6 : AF_INET;
  Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.valid()) return CannotListen(address, errno);
  // SO_REUSEADDR: connections that a previous daemon left half-closed must not block us.
  // IPV6_V6ONLY off: [::] covers IPv4 whatever the system default is.
  const int on = 1, off = 0;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      (address.v6 && ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0))
    return CannotListen(address, errno);
  const SocketAddress at = ToSocketAddress(address);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.bytes), at.size) != 0 ||
      ::listen(socket.get(), backlog) != 0)
    return CannotListen(address, errno);
  return socket;
}

}  // namespace penstock::posix
