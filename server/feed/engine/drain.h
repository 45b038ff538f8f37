// How the daemon is emptied: nobody comes in any more, and each session ends once its consumer has
// taken its epoch's last batch. Sessions that were ended stay so if the drain is cancelled.
//
// **Ownership**: it knows where each session's epoch ends; the sessions are the table's.
// **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/status.h"
#include "server/feed/engine/session_table.h"

namespace penstock::feed {

class Drain {
 public:
  explicit Drain(SessionTable& sessions) : sessions_(sessions) {}

  void Set(bool draining);
  bool active() const { return active_; }
  // **Errors**: Unavailable while it is active.
  absl::Status MayOpen() const;
  // Ends those whose epoch was taken, while it is active.
  void Tick();
  // Whether the drain waits for the session, or would.
  static bool WaitsFor(const SessionRecord& session) {
    return !session.ended && !session.request.canary;
  }
  // Batches of its epoch that its consumer has not taken.
  uint64_t RestOf(uint64_t id, const SessionRecord& session) const;

 private:
  uint64_t EndOf(uint64_t id) const;

  SessionTable& sessions_;
  bool active_ = false;
  std::map<uint64_t, uint64_t> ends_at_;  // by session: once so many batches were taken
};

}  // namespace penstock::feed
