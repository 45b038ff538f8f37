// Accepts connections on a listening socket in its own thread ("rpc-accept") and hands them over.
// Limits their number, in total and per user (common/base/shares.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/shares.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/foreign_fd.h"
#include "common/posix/socket.h"

namespace penstock::rpc {

class Acceptor {
 public:
  // The connection counts as open while `place` is held. Called on the acceptor's thread.
  using HandOver = std::function<void(posix::ForeignFd connection, const posix::Credentials& peer,
                                      std::shared_ptr<const void> place)>;

  // Who may use the reserved connections and descriptors, and has no per-user limit: kOwner stands
  // for root and the daemon's own user, who can stop a flood; kNobody is for sockets where a
  // container's root may connect.
  enum class InCharge { kOwner, kNobody };

  struct Limits {
    InCharge in_charge = InCharge::kOwner;
    uint32_t connections = 1024;
    uint32_t kept = 0;  // reserved for the owner
    // Connections may use descriptors below this number; the process needs the rest.
    uint64_t descriptors = UINT64_MAX;
  };

  // Connections beyond the limits are closed at once, which is logged at most once a second.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(posix::Fd listener, const Limits& limits,
                                                         HandOver hand_over);
  ~Acceptor();  // ends the thread; connections that were handed over live on

  uint32_t connections() const;
  // Connections closed at once since the start.
  uint64_t refused() const { return refused_.load(); }

 private:
  // Lives as long as any connection. Any thread may use it.
  struct Places {
    mutable base::Mutex mutex;
    base::Shares taken PENSTOCK_GUARDED_BY(mutex);
  };

  Acceptor(posix::Fd listener, posix::Fd epoll, posix::Fd stop, const Limits& limits,
           HandOver hand_over);
  void Run();
  bool Serve(int fd);  // false: stop
  void AcceptAll();
  void Admit(posix::ForeignFd connection);
  std::shared_ptr<const void> PlaceFor(uint32_t user, bool privileged);
  void Refuse(uint32_t user, const char* remedy);
  void SetListening(bool listening);

  const posix::ForeignFd listener_;  // foreign: closing it closes connections not yet accepted
  const posix::Fd epoll_;
  const posix::Fd stop_;
  const Limits limits_;
  const uint32_t owner_;  // this process's user
  const HandOver hand_over_;
  const std::shared_ptr<Places> places_;

  // Used only by the thread.
  bool listening_ = false;
  std::atomic<uint64_t> refused_ = 0;
  uint64_t unsaid_ = 0;  // refusals that were not yet logged
  base::TimePoint refusal_said_{};

  std::thread thread_;
};

}  // namespace penstock::rpc
