// The life of a dataset's host: which sessions' trainers are asked to fork one, and when to give
// up. At most one host supplies a dataset at a time. Pure: the time is an argument.
//
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "server/pyworkers/limits.h"

namespace penstock::pyworkers {

enum class HostState {
  kNone,       // nobody needs one
  kWanted,     // trainers are asked to fork one
  kSupplying,  // it has entered, and its workers make batches
  kEnding,     // it gets no new requests; its connection is closed when those in hand have ended
  kFailed,     // kMaxFailedHosts failed in a row
};

enum class HostEvent {
  kNeed,      // a feed of the dataset wants rows
  kEnter,     // a host entered
  kNotUsed,   // no session of the dataset is left, or none was for kKeepUnusedHost
  kGone,      // its process or its connection ended
  kGiveUp,    // too many failed
  kTryAgain,  // a session opens, which may have a trainer that can fork one
};

// The next state; nullopt if the event is impossible in that state.
std::optional<HostState> Next(HostState state, HostEvent event);

// Why a host is gone.
enum class HostEnd {
  kByItself,     // it crashed, gave up, or was killed
  kWithTrainer,  // it ends when its trainer ends or closes its loader
  kAsTold,       // the daemon closed its connection
};

// What the trainer does that would be asked next.
enum class NextTrainer { kIsBusy, kWaits };

class HostLife {
 public:
  HostState state() const { return state_; }
  uint32_t failures() const { return failures_; }  // hosts that failed in a row

  // A session of the dataset, by an id that is never used again.
  void SessionOpened(uint64_t session);
  // It closed, or its trainer is gone; then its host ends without having failed.
  void SessionGone(uint64_t session, base::TimePoint now);
  size_t sessions() const { return sessions_.size(); }

  // A feed of the dataset wants rows. Does nothing without a session.
  void Need();
  // How long a host stays without a session. At first not at all.
  void KeepUnused(base::Duration time) { keep_unused_ = time; }

  // Whether one more trainer should be asked to fork a host. The caller chooses the session, and
  // calls Ask; it does nothing if all are asked already (IsAsked), since a trainer that computes
  // for a minute answers only then. One that waits for a batch, and so answers at once, is asked
  // soon after one that does not answer.
  bool WantsAsk(base::TimePoint now, NextTrainer next = NextTrainer::kIsBusy) const;
  bool IsAsked(uint64_t session) const { return asked_.contains(session); }
  // **Requires**: an open session that is not asked, in kWanted.
  void Ask(uint64_t session, base::TimePoint now);
  // The trainer says that it has forked a host. Does nothing unless it is asked.
  void Forked(uint64_t session, base::TimePoint now);

  // A host entered. The first one counts, whoever was asked; false: this one must be sent away.
  bool Enter();
  // The host proved to work: one of its workers is ready. Forgets the failures.
  void Worked();
  // **Requires**: kSupplying or kEnding.
  void Gone(HostEnd end, base::TimePoint now);

  // Call it about every 100 ms.
  void Tick(base::TimePoint now);

 private:
  struct AskedTrainer {
    base::TimePoint since{};  // when it was asked; then, when it forked
    bool forked = false;
  };
  void Apply(HostEvent event);
  void Fail(base::TimePoint now);
  void EndIfUnused(base::TimePoint now);

  HostState state_ = HostState::kNone;
  std::set<uint64_t> sessions_;
  std::map<uint64_t, AskedTrainer> asked_;  // by session; empty unless kWanted
  uint32_t failures_ = 0;
  bool worked_ = false;  // the present host
  base::BackOff back_off_{kStartAgain};
  base::TimePoint ask_after_ = base::TimePoint::min();
  base::TimePoint unused_since_{};  // while there is no session
  base::Duration keep_unused_{};
};

}  // namespace penstock::pyworkers
