// The workers of users who have no worker slot now, kept for a while: users who take turns need not
// wait for a worker to start each time. They have nothing to decode; a read that does not come back
// may still be there.
//
// **Ownership**: the supervisor. **Thread safety**: used by the supervisor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "server/workers/user_worker.h"

namespace penstock::workers {

class SleepingWorkers {
 public:
  // **Requires**: nothing is to be decoded.
  void Add(std::unique_ptr<UserWorker> worker, base::TimePoint now);
  // The user's worker that fell asleep last: the caches know it best. Null: there is none that
  // could go on at once.
  std::unique_ptr<UserWorker> Wake(uint32_t user);

  // Those that are more than `most` processes, oldest first. One that waits for a read that does
  // not come back goes last: the row would be read again by another.
  std::vector<std::unique_ptr<UserWorker>> TakeBeyond(size_t most);
  // Those that nobody woke for so long, and those that lost their process.
  std::vector<std::unique_ptr<UserWorker>> TakeUnused(base::TimePoint now, base::Duration keep);

  size_t processes() const;
  const std::vector<std::unique_ptr<UserWorker>>& all() const { return workers_; }

 private:
  std::vector<std::unique_ptr<UserWorker>> workers_;  // the one that fell asleep last is the last
};

// Whether a worker has had nothing to do for that long, or has no process to do it.
bool IsUnused(const UserWorker& worker, base::TimePoint now, base::Duration keep);

}  // namespace penstock::workers
