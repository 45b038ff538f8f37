// Whose processor time the workers spent: what a worker's process used since the last look belongs
// to the users whose rows it decoded meanwhile, by the time that these took. What it used while it
// decoded nothing, as when it started, belongs to whom it decodes for next. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/base/clock.h"

namespace penstock::feed {

class WorkerCpu {
 public:
  // The worker of this number decoded a row of this user for so long.
  void Decoded(uint32_t worker, uint32_t user, base::Duration time) {
    workers_[worker].decoded[user] += time;
  }

  // The worker is this process now, which has used so much in all. `give` is told of each user's
  // part of what is new.
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

  // Forgets those that are gone.
  void Keep(absl::FunctionRef<bool(uint32_t worker)> is_there) {
    std::erase_if(workers_, [&](const auto& entry) { return !is_there(entry.first); });
  }

 private:
  struct Worker {
    int64_t pid = 0;
    base::Duration used{}, owed{};
    std::map<uint32_t, base::Duration> decoded;  // since the last look, by user
  };
  std::map<uint32_t, Worker> workers_;  // by number
};

}  // namespace penstock::feed
