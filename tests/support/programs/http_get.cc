#include "tests/support/programs/http_get.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cmath>

namespace penstock::testing {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool Await(int socket, short events, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  pollfd polled = {.fd = socket, .events = events, .revents = 0};
  return left.count() > 0 && ::poll(&polled, 1, static_cast<int>(left.count())) > 0;
}

}  // namespace

uint16_t FreePort() {
  const posix::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 0;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

posix::Fd ConnectTo(uint16_t port, std::chrono::milliseconds within) {
  const Clock::time_point until = Clock::now() + within;
  posix::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return socket;
  int error = 0;
  socklen_t size = sizeof(error);
  if (errno != EINPROGRESS || !Await(socket.get(), POLLOUT, until) ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
    return {};
  return socket;
}

std::string Exchange(uint16_t port, const std::string& bytes, std::chrono::milliseconds within) {
  const Clock::time_point until = Clock::now() + within;
  const posix::Fd socket = ConnectTo(port, within);
  if (!socket.valid()) return "";
  if (!bytes.empty()) (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::string heard;
  char buffer[16384];
  while (Await(socket.get(), POLLIN, until)) {
    const ssize_t got = ::recv(socket.get(), buffer, sizeof(buffer), 0);
    if (got <= 0) return heard;
    heard.append(buffer, static_cast<size_t>(got));
  }
  return "";
}

std::string Scrape(uint16_t port, std::chrono::milliseconds within) {
  const std::string answer =
      Exchange(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", within);
  const size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? "" : answer.substr(head + 4);
}

double ValueOf(const std::string& page, const std::string& series) {
  const size_t at = ("\n" + page).find("\n" + series + " ");
  return at == std::string::npos ? std::nan("") : std::stod(page.substr(at + series.size() + 1));
}

}  // namespace penstock::testing
