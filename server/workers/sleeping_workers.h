// The workers without a worker slot. Most sleep: they have nothing to decode, though a read may
// still be blocked, and are kept for a while, so that users who take turns need no restart each
// time. Those that were set aside finish their items first, then sleep.
//
// **Ownership**: owned by the supervisor. **Thread safety**: the supervisor's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "server/workers/slots/slot_choice.h"
#include "server/workers/user_worker.h"

namespace penstock::workers {

class SleepingWorkers {
 public:
  // **Requires**: it has nothing to decode, or was set aside.
  void Add(std::unique_ptr<UserWorker> worker, base::TimePoint now);
  // Returns the user's worker that fell asleep last, because its data is most likely still cached.
  // Null if none could continue at once.
  std::unique_ptr<UserWorker> Wake(uint32_t user);

  // Removes processes beyond `most`, oldest first. A worker with a blocked read goes last, because
  // its row would have to be read again. Those that were set aside stay until their items end.
  std::vector<std::unique_ptr<UserWorker>> TakeBeyond(size_t most);
  // Removes those that nobody woke for this long, and those that lost their process.
  std::vector<std::unique_ptr<UserWorker>> TakeUnused(base::TimePoint now, base::Duration keep);

  size_t processes() const;
  // Those that were set aside and still have items: all of them, or one user's.
  size_t set_aside() const;
  uint32_t SetAsideOf(uint32_t user) const;
  std::vector<AsideLoad> Aside(base::TimePoint now) const;
  const std::vector<std::unique_ptr<UserWorker>>& all() const { return workers_; }

 private:
  std::vector<std::unique_ptr<UserWorker>> workers_;  // the last one fell asleep most recently
};

// Whether a worker has had nothing to do for this long, or has no process.
bool IsUnused(const UserWorker& worker, base::TimePoint now, base::Duration keep);

}  // namespace penstock::workers
