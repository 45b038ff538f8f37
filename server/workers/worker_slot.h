// A worker slot, the user's worker that is at it, and what the supervisor remembers of the two.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/posix/process.h"
#include "server/workers/supervisor.h"
#include "server/workers/worker_process.h"
#include "server/workers/worker_queue.h"

namespace penstock::workers {

// Why we killed a worker, if we did.
enum class Verdict { kNone, kNotReady, kTimedOut, kBroken, kDoesNotRead, kNotSent, kCrowded };

// Whether the death is the sample's doing: anything is but a SIGKILL that is not ours, and our
// killing of a worker that was not ready, did not read its socket, could not be told of a segment,
// or has no room for its input.
WorkerQueue::InHandEnds EndOf(Verdict verdict, const posix::Exit& exit);

// Whether anybody is to blame for it: one that is replaced died of nothing that it did.
bool IsBlameless(Verdict verdict);

// "killed by signal 11 (Segmentation fault)", for people.
std::string Describe(Verdict verdict, const posix::Exit& exit);

absl::Status NoThread();

// Share of time spent on samples, in steps of at least a second.
class Utilisation {
 public:
  void Update(base::TimePoint now, uint64_t busy_ns);
  void Restart(base::TimePoint now) { *this = Utilisation(now); }
  double value() const { return value_; }

  Utilisation() = default;

 private:
  explicit Utilisation(base::TimePoint now) : since_(now) {}
  base::TimePoint since_{};
  uint64_t busy_ns_ = 0;
  double value_ = 0;
};

// A queue and its worker, which serve one user from beginning to end. At a worker slot, or asleep:
// kept for its user while another one has the worker slot.
struct Supervisor::UserWorker {
  UserWorker(uint32_t of_user, const WorkerQueue::Options& lane_options, const posix::Fd& wake,
             posix::LooseThreads& loose)
      : user(of_user),
        number(lane_options.number),
        queue(std::make_unique<WorkerQueue>(lane_options, wake, loose)) {}

  bool Accepts() const { return worker && verdict == Verdict::kNone; }
  void Ended(const std::vector<Outcome>& outcomes, size_t from);
  // Nothing is to be decoded; a read that does not come back may still be there.
  bool IsFree() const { return queue->outstanding() == 0; }

  const uint32_t user;
  const uint32_t number;             // of the worker slot for which it was made
  Verdict verdict = Verdict::kNone;  // on the worker that is running or not yet reaped
  // Of the worker, as the ticks saw it: since when there is one, and since when it is ready.
  std::optional<base::TimePoint> started_at, ready_at;
  std::set<uint32_t> shown;  // the segments that the worker was told of
  // Who pays for the worker's death: whose sample it has in hand, else who gave it its last.
  struct Given {
    uint64_t id, account;
  };
  std::vector<Given> given;   // not ended
  uint64_t last_account = 0;  // 0: it was never given any user's
  uint64_t seen_busy_ns = 0;
  base::TimePoint free_since;  // as the ticks saw it
  std::unique_ptr<WorkerQueue> queue;
  std::optional<WorkerProcess> worker;  // after the queue: it ends first
};

struct Supervisor::WorkerSlot {
  WorkerSlot(uint32_t its_number, base::BackOff::Options back_off_options)
      : number(its_number), back_off(back_off_options) {}

  bool IsFree() const { return user_worker == nullptr || user_worker->IsFree(); }
  // It has a worker, or may have one.
  bool Serves(base::TimePoint now) const {
    return !retiring && !stopped && now >= closed_until &&
           (user_worker == nullptr || user_worker->verdict == Verdict::kNone);
  }

  // Adds up what its worker says that it spent on samples.
  void NoteBusy();

  const uint32_t number;
  bool retiring = false;
  bool stopped = false;          // the budget is spent
  bool gives_way = false;        // takes nothing more until it is free
  bool died = false;             // its worker, and the next one starts by itself
  base::TimePoint closed_until;  // no worker is started before
  uint32_t failed_starts = 0;    // in a row: workers that were gone before they were ready
  base::BackOff back_off;
  uint64_t decoded = 0, restarts = 0;
  // Since when it is taken by what was given and has not ended, nor is paid; nothing: it is free.
  std::optional<base::TimePoint> busy_since;
  uint64_t busy_ns = 0;  // by the words of its workers
  Utilisation utilisation;
  std::string last_death;
  std::unique_ptr<UserWorker> user_worker;
};

}  // namespace penstock::workers
