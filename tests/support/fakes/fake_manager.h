// A service manager for tests: owns the socket that child processes find in $NOTIFY_SOCKET, and
// receives the messages they send to it.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

namespace penstock::testing {

class FakeManager {
 public:
  explicit FakeManager(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    const int bound = ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (socket_ < 0 || bound != 0) std::abort();
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~FakeManager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    ::close(socket_);
  }
  FakeManager(const FakeManager&) = delete;
  FakeManager& operator=(const FakeManager&) = delete;

  // The next message; empty if none comes within that time.
  std::string Next(std::chrono::milliseconds within) {
    pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(within.count())) <= 0) return "";
    char text[4096];
    const ssize_t got = ::recv(socket_, text, sizeof(text), 0);
    return got > 0 ? std::string(text, static_cast<size_t>(got)) : "";
  }

  // Receives and keeps messages until one contains `words`. Returns whether one did.
  bool Hears(const std::string& words,
             std::chrono::milliseconds within = std::chrono::seconds(10)) {
    using std::chrono::steady_clock;
    const auto deadline = steady_clock::now() + within;
    for (auto now = steady_clock::now(); now < deadline; now = steady_clock::now()) {
      const std::string said = Next(std::chrono::ceil<std::chrono::milliseconds>(deadline - now));
      if (said.empty()) continue;
      heard_ += said + "\n";
      if (said.find(words) != std::string::npos) return true;
    }
    return false;
  }
  const std::string& heard() const { return heard_; }

 private:
  int socket_;
  std::string heard_;
};

}  // namespace penstock::testing
