// Waits for the sockets of libcurl's transfers and gives it their events, by epoll. The cost is
// that of the sockets that have something, however many transfers are under way.
// **Thread safety**: one thread; Wake: any.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "common/posix/fd.h"
#include "server/store/client/curl.h"

namespace penstock::store {

class SocketLoop {
 public:
  // **Requires**: `curl` outlives this.
  explicit SocketLoop(const Curl& curl);
  ~SocketLoop();  // no transfer may be left
  SocketLoop(const SocketLoop&) = delete;
  SocketLoop& operator=(const SocketLoop&) = delete;

  CURLM* multi() const { return multi_; }
  // Waits until a socket has something, a time of libcurl's has come, or Wake was called, at most
  // that long, and lets libcurl work.
  void Run(base::Duration longest);
  void Wake() const;

 private:
  static int OnSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int OnTimer(CURLM* multi, long timeout_ms, void* self);
  void Watch(curl_socket_t socket, int what) const;
  void Give(curl_socket_t socket, int events) const;

  const Curl& curl_;
  CURLM* const multi_;
  const posix::Fd epoll_, wake_;
  std::optional<base::TimePoint> due_;  // when libcurl wants to work next
};

}  // namespace penstock::store
