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

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::rpc {

class Acceptor {
 public:
  using HandOver = std::function<void(posix::Fd connection)>;  // called from the acceptor's thread

  // More than max_connections are closed as soon as they come.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(posix::Fd listener,
                                                         uint32_t max_connections,
                                                         HandOver hand_over);
  ~Acceptor();  // ends the thread; connections that were handed over live on

  uint32_t connections() const { return connections_.load(); }

 private:
  Acceptor(posix::Fd listener, posix::Fd epoll, posix::Fd stop, uint32_t max_connections,
           HandOver hand_over);
  void Run();
  bool Serve(int fd);  // false: it is time to stop
  void AcceptAll();
  void Admit(posix::Fd connection);
  void Ended(int fd);
  void SetListening(bool listening);

  const posix::Fd listener_;
  const posix::Fd epoll_;
  const posix::Fd stop_;
  const uint32_t max_connections_;
  const HandOver hand_over_;
  std::atomic<uint32_t> connections_{0};  // the size of ends_

  // Of the thread.
  bool listening_ = false;
  std::map<int, posix::Fd> ends_;  // our second descriptors, by number

  std::thread thread_;
};

}  // namespace penstock::rpc
