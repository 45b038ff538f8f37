// Accepts connections on a listening socket in a thread of its own ("rpc-accept") and hands them
// over, at most so many at once, and of one user no more than its share (common/base/shares.h).
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
#include "common/posix/socket.h"

namespace penstock::rpc {

class Acceptor {
 public:
  // A connection has its place as long as `place` is held. Called from the acceptor's thread.
  using HandOver = std::function<void(posix::Fd connection, const posix::Credentials& peer,
                                      std::shared_ptr<const void> place)>;

  // Who has the kept places, the last descriptors and no share: root and the daemon's own user, who
  // can put an end to a flood; or nobody, where anybody's root may connect.
  enum class InCharge { kOwner, kNobody };

  struct Limits {
    InCharge in_charge = InCharge::kOwner;
    uint32_t connections = 1024;
    uint32_t kept = 0;  // of these, for who is in charge
    // Descriptors below this number are for connections; the process needs the rest.
    uint64_t descriptors = UINT64_MAX;
  };

  // What comes beyond the limits is closed as soon as it comes, and said once a second at most.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(posix::Fd listener, const Limits& limits,
                                                         HandOver hand_over);
  ~Acceptor();  // ends the thread; connections that were handed over live on

  uint32_t connections() const;
  // For whom there was no place, since the start.
  uint64_t refused() const { return refused_.load(); }

 private:
  // Lives as long as there is a place. Any thread.
  struct Places {
    mutable base::Mutex mutex;
    base::Shares taken PENSTOCK_GUARDED_BY(mutex);
  };

  Acceptor(posix::Fd listener, posix::Fd epoll, posix::Fd stop, const Limits& limits,
           HandOver hand_over);
  void Run();
  bool Serve(int fd);  // false: it is time to stop
  void AcceptAll();
  void Admit(posix::Fd connection);
  std::shared_ptr<const void> PlaceFor(uint32_t user, bool privileged);
  void Refuse(uint32_t user, const char* remedy);
  void SetListening(bool listening);

  const posix::Fd listener_;
  const posix::Fd epoll_;
  const posix::Fd stop_;
  const Limits limits_;
  const uint32_t owner_;  // whose process this is
  const HandOver hand_over_;
  const std::shared_ptr<Places> places_;

  // Of the thread.
  bool listening_ = false;
  std::atomic<uint64_t> refused_ = 0;
  uint64_t unsaid_ = 0;  // of these, since that was said last
  base::TimePoint refusal_said_{};

  std::thread thread_;
};

}  // namespace penstock::rpc
