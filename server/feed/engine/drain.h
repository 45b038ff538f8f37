// Draining: no session can be opened, and each ends once its consumer has taken the last batch of
// its epoch. If the drain is cancelled, sessions that were already ended stay ended.
//
// **Ownership**: the session table owns the sessions. **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/status.h"
#include "server/feed/sessions/session_table.h"
#include "server/session/asked_by.h"

namespace penstock::feed {

class Drain {
 public:
  explicit Drain(SessionTable& sessions) : sessions_(sessions) {}

  // The process that asked is only logged.
  void Set(bool draining, const session::AskedBy& asked_by);
  bool active() const { return active_; }
  // **Errors**: Unavailable during a drain.
  absl::Status MayOpen() const;
  // During a drain, ends the sessions whose epoch has been taken.
  void Tick();
  // Whether a drain waits for the session, or would wait if there were one.
  static bool WaitsFor(const SessionRecord& session) {
    return !session.ended && !session.request.canary;
  }
  // Batches of its epoch that its consumer has not yet taken.
  uint64_t RestOf(uint64_t id, const SessionRecord& session) const;

 private:
  uint64_t EndOf(uint64_t id) const;

  SessionTable& sessions_;
  bool active_ = false;
  // For each session: it ends once its consumer has taken this many batches.
  std::map<uint64_t, uint64_t> ends_at_;
};

}  // namespace penstock::feed
