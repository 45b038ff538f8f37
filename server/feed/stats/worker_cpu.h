// Assigns the workers' processor time to users: what a worker's process used since the last look
// belongs to the users whose rows it decoded meanwhile, in proportion to the decoding times. Time
// used without decoding, as at start, belongs to the next user. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/base/clock.h"

namespace penstock::feed {

class WorkerCpu {
 public:
  // The worker decoded a row of this user for this time.
  void Decoded(uint32_t worker, uint32_t user, base::Duration time) {
    workers_[worker].decoded[user] += time;
  }

  // The worker is this process now, with this total usage. Calls `give` with each user's part of
  // the increase.
  void Look(uint32_t worker, int64_t pid, base::Duration used,
            absl::FunctionRef<void(uint32_t user, base::Duration time)> give) {
    Worker& known = workers_[worker];
    const base::Duration before = known.pid == pid ? known.used : base::Duration{};
    known.pid = pid;
    known.used = used;
    if (used > before) known.owed += used - before;
    base::Duration all{};
    for (const auto& [user, time] : known.decoded) all += time;
    if (all <= base::Duration{}) return;
    for (const auto& [user, time] : known.decoded)
      give(user, std::chrono::duration_cast<base::Duration>(
                     known.owed *
                     (static_cast<double>(time.count()) / static_cast<double>(all.count()))));
    known.owed = {};
    known.decoded.clear();
  }

  // Forgets workers that are gone.
  void Keep(absl::FunctionRef<bool(uint32_t worker)> is_there) {
    std::erase_if(workers_, [&](const auto& entry) { return !is_there(entry.first); });
  }

 private:
  struct Worker {
    int64_t pid = 0;
    base::Duration used{}, owed{};
    std::map<uint32_t, base::Duration> decoded;  // by user, since the last look
  };
  std::map<uint32_t, Worker> workers_;  // by number
};

}  // namespace penstock::feed
