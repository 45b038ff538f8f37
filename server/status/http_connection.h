// One connection to the metrics port: reads a request, sends one response, ends. Non-blocking; used
// by one thread, the server's.
#pragma once

#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/posix/fd.h"
#include "server/status/http_request.h"

namespace penstock::status {

struct HttpPage {
  std::shared_ptr<const std::string> body = {};  // shared with whoever caches it
  HttpContent content = {};
  HttpVerdict verdict = HttpVerdict::kPage;  // or kNotFound, kUnavailable: `body` says why
  bool is_pending = false;                   // not known yet; ask again
};

class HttpConnection {
 public:
  // The connection's state.
  enum class State {
    kReading,  // reading the request
    kAsked,    // request complete: call Answer, before the deadline
    kWriting,
    kLeaving,  // response sent; waits for the peer to close, so that none of it is lost
    kDone,     // may be destroyed
  };
  struct Limits {
    size_t request_bytes = 4096;
    base::Duration request_within = std::chrono::seconds(2);
    base::Duration answer_within = std::chrono::seconds(5);
    // To send the answer; large ones have more time.
    base::Duration send_within = std::chrono::seconds(5);
    uint64_t sent_bytes_per_second = 256 << 10;
    base::Duration leave_within = std::chrono::milliseconds(500);
  };

  HttpConnection(posix::Fd socket, Limits limits, base::TimePoint now);

  // Call when the socket is readable or writable: proceeds as far as possible.
  void Proceed(base::TimePoint now);
  // **Requires**: kAsked. `page` is the page that was requested, if a page was; without a body,
  // there is no such page.
  void Answer(HttpPage page, base::TimePoint now);
  // Ends the connection if its time is over; returns whether it was.
  bool Expire(base::TimePoint now);

  State state() const { return state_; }
  const HttpRequest& request() const { return request_; }
  int socket() const { return socket_.get(); }
  base::TimePoint deadline() const { return deadline_; }

 private:
  void Read(base::TimePoint now);
  void Write(base::TimePoint now);
  void Drain();

  posix::Fd socket_;
  const Limits limits_;
  State state_ = State::kReading;
  base::TimePoint deadline_;
  std::string received_;
  HttpRequest request_;
  std::string head_;
  std::shared_ptr<const std::string> body_;  // shared with other responses and the collector
  size_t written_ = 0;                       // bytes of head and body sent
};

}  // namespace penstock::status
