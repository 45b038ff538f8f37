// One connection to the metrics page: reads a request, gives one answer, ends. Non-blocking; one
// thread (the server's).
#pragma once

#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/posix/fd.h"
#include "server/status/http_request.h"

namespace penstock::status {

class HttpConnection {
 public:
  // Where it is with its peer.
  enum class State {
    kReading,  // its request
    kAsked,    // for an answer: call Answer
    kWriting,
    kLeaving,  // answered; waits for the peer to close, so that nothing of the answer is lost
    kDone,     // to be destroyed
  };
  struct Limits {
    size_t request_bytes = 4096;
    base::Duration request_within = std::chrono::seconds(2);
    base::Duration answer_within = std::chrono::seconds(5);
    base::Duration leave_within = std::chrono::milliseconds(500);
  };

  HttpConnection(posix::Fd socket, Limits limits, base::TimePoint now);

  // After the socket was found readable or writable: goes on as far as it can.
  void Proceed(base::TimePoint now);
  // Of kAsked. The body is that of the page; it is not used where something else was asked for.
  void Answer(std::shared_ptr<const std::string> page, base::TimePoint now);
  // Ends it when its time is over; whether it was.
  bool Expire(base::TimePoint now);

  State state() const { return state_; }
  const Request& request() const { return request_; }
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
  Request request_;
  std::string head_;
  std::shared_ptr<const std::string> body_;  // shared with the other answers and who made it
  size_t written_ = 0;                       // of head and body together
};

}  // namespace penstock::status
