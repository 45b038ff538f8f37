// A TCP socket whose last close blocks.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "common/base/check.h"
#include "common/posix/fd.h"

namespace penstock::testing {

// The peer is in this process, stays open and never reads; the socket is full of unsent bytes.
inline posix::Fd LingeringSocket(std::chrono::seconds lingers) {
  const posix::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  PENSTOCK_CHECK(::bind(listener.get(), generic, size) == 0 && ::listen(listener.get(), 1) == 0);
  PENSTOCK_CHECK(::getsockname(listener.get(), generic, &size) == 0);
  posix::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  PENSTOCK_CHECK(::connect(socket.get(), generic, size) == 0);
  (void)::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);  // deliberately left open
  const linger choice = {.l_onoff = 1, .l_linger = static_cast<int>(lingers.count())};
  PENSTOCK_CHECK(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &choice, sizeof(choice)) == 0);
  char bytes[65536] = {};
  while (::send(socket.get(), bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) continue;
  return socket;
}

}  // namespace penstock::testing
