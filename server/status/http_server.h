// An HTTP server for a few pages, on its own thread ("metrics"). It withstands hostile peers:
// connections, bytes, time and connections per second are limited, and an unfinished connection
// makes way for a new one.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"
#include "common/posix/fd.h"
#include "server/status/http_connection.h"

namespace penstock::status {

struct HttpCounts {
  uint64_t answered = 0;  // responses with a page
  uint64_t refused = 0;   // responses with an error
  uint64_t dropped = 0;   // closed without a response: too slow, or displaced by a new connection
};

class HttpServer {
 public:
  struct Options {
    size_t max_connections = 64;
    // Further connections wait in the kernel. A response takes about 50 µs, so this many use about
    // a hundredth of a core.
    uint32_t connections_per_second = 250;
    HttpConnection::Limits limits;
  };
  // Makes a page on the server's thread; may wait at most one second. A null body: there is no such
  // page now. While the page is pending, the route is called again every 20 ms, without waiting,
  // until `limits.answer_within` is over.
  using Route = std::function<HttpPage(const HttpCounts& so_far, const HttpRequest& request)>;
  using Routes = std::map<std::string, Route>;  // by path

  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(posix::Fd listener, Routes routes,
                                                           Options options);
  ~HttpServer();  // closes all connections

  HttpCounts counts() const;  // any thread

 private:
  HttpServer(posix::Fd listener, Routes routes, Options options, posix::Fd stop);
  void Run();
  base::Duration Wait(base::TimePoint now, bool accepting);
  bool AsksAgain(base::TimePoint now);
  bool AcceptOne();
  void EvictOldest();
  void Serve(HttpConnection& connection);
  HttpPage Find(const HttpRequest& request) const;
  void Forget(base::TimePoint now);

  const posix::Fd listener_;
  const Routes routes_;
  const Options options_;
  const posix::Fd stop_;
  const base::SteadyClock clock_;
  base::TokenBucket accepts_;              // connections
  base::TimePoint pause_until_{};          // out of descriptors until then
  base::TimePoint ask_again_at_{};         // pending pages
  std::list<HttpConnection> connections_;  // oldest first
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> answered_ = 0, refused_ = 0, dropped_ = 0;
  std::thread thread_;
};

}  // namespace penstock::status
