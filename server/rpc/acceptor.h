// Accepts connections on a listening socket in a thread of its own ("rpc-accept") and hands them
// over, at most so many at once. To know when one ends it keeps a second descriptor of each:
// whoever got the first ends a connection with shutdown(2), as gRPC does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::rpc {

class Acceptor {
 public:
  using HandOver = std::function<void(posix::Fd connection)>;  // called from the acceptor's thread

  struct Limits {
    uint32_t connections = 1024;
    // Of one user, who is neither root nor the daemon's own.
    uint32_t of_a_user = 512;
  };

  // What comes beyond the limits is closed as soon as it comes, and said once a second at most.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(posix::Fd listener, const Limits& limits,
                                                         HandOver hand_over);
  ~Acceptor();  // ends the thread; connections that were handed over live on

  uint32_t connections() const { return connections_.load(); }

 private:
  // A connection that is handed over: our second descriptor of it.
  struct End {
    posix::Fd fd;
    uint32_t user = 0;
  };

  Acceptor(posix::Fd listener, posix::Fd epoll, posix::Fd stop, const Limits& limits,
           HandOver hand_over);
  void Run();
  bool Serve(int fd);  // false: it is time to stop
  void AcceptAll();
  void Admit(posix::Fd connection);
  bool HasPlaceFor(uint32_t user) const;
  void Refuse(uint32_t user);
  void Ended(int fd);
  void SetListening(bool listening);

  const posix::Fd listener_;
  const posix::Fd epoll_;
  const posix::Fd stop_;
  const Limits limits_;
  const uint32_t owner_;  // whose process this is
  const HandOver hand_over_;
  std::atomic<uint32_t> connections_{0};  // the size of ends_

  // Of the thread.
  bool listening_ = false;
  std::map<int, End> ends_;             // by descriptor
  std::map<uint32_t, uint32_t> users_;  // how many of these a user has
  uint64_t refused_ = 0;                // since that was said last
  base::TimePoint refusal_said_{};

  std::thread thread_;
};

}  // namespace penstock::rpc
