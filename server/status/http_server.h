// A web server for one page, on a thread of its own ("metrics"). Whoever can reach the port may do
// its worst: connections, bytes, time and connections a second are limited, and a peer that is not
// done makes room for a new one.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/status/budget.h"
#include "server/status/http_connection.h"

namespace penstock::status {

struct HttpCounts {
  uint64_t answered = 0;  // with the page
  uint64_t refused = 0;   // with an error
  uint64_t dropped = 0;   // without an answer: too slow, or room was needed
};

class HttpServer {
 public:
  struct Options {
    size_t max_connections = 64;
    // More wait in the kernel. An answer costs some 50 µs: this many are a hundredth of a core.
    uint32_t connections_per_second = 250;
    HttpConnection::Limits limits;
  };
  // The page, made on the server's thread, where it may wait for a second at most.
  using Page = std::function<std::shared_ptr<const std::string>(const HttpCounts& so_far)>;

  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(posix::Fd listener, Page page,
                                                           Options options);
  ~HttpServer();  // ends all connections

  HttpCounts counts() const;  // any thread

 private:
  HttpServer(posix::Fd listener, Page page, Options options, posix::Fd stop);
  void Run();
  base::Duration Wait(base::TimePoint now, bool accepting);
  bool AcceptOne();
  void MakeRoom();
  void Serve(HttpConnection& connection);
  void Forget(base::TimePoint now);

  const posix::Fd listener_;
  const Page page_;
  const Options options_;
  const posix::Fd stop_;
  const base::SteadyClock clock_;
  Budget budget_;
  base::TimePoint pause_until_{};          // no descriptor was left for a connection
  std::list<HttpConnection> connections_;  // the oldest first
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> answered_ = 0, refused_ = 0, dropped_ = 0;
  std::thread thread_;
};

}  // namespace penstock::status
