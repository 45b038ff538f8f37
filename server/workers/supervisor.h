// Decodes rows in worker processes and keeps these processes alive. Each process serves one user id
// for its whole life. The class is a thin loop over parts that are tested alone: worker slots
// (worker_slots.h), the workers of users without one (sleeping_workers.h), a worker's life
// (user_worker.h), and the restart policy (restart.h).
//
// There are `count` worker slots, and each has at most one worker that decodes. A slot serves the
// user whose rows it was given last; when these are done, it is free for any user. When another
// user takes the slot, the previous worker is put to sleep and kept for a while, so that users who
// alternate need no restart each time. At most `count` workers sleep; they have nothing to decode.
// A worker that does not finish within `give_way_within` while another user waits for its slot is
// set aside: it finishes its items beside the slots, as one of those `count`. It counts as one of
// its user's slots, and its time is charged, so its user gains nothing by it. A user's slots and
// workers set aside are never more than `count`.
// The worker of a user without rows is eventually ended. Nobody waits while it gives its memory
// back, unless more than twice `count` do so. The caller decides which user is next: it asks
// HeadroomFor, and frees worker slots with GiveWay.
//
// **Ownership**: owned by the feed's engine.
// **Thread safety**: only the runner's thread may call it; the queues' reader threads are internal.
// That thread must live as long as the supervisor, because the kernel kills workers when the thread
// that started them ends. No call waits for a worker or a source, except the destructor, which
// waits for reads in progress.
//
// Nothing is logged here; View and status report what happened. `now` is SteadyClock's time, which
// the readers use too.
//
// Invariants:
// - Each submitted item ends in exactly one outcome, unless the supervisor is destroyed first.
// - An item's outcome is reported only when nobody writes its row any more: a lost worker is dead
//   and reaped first.
// - Items of a queue end in the order of submission, except those that need no worker and those
//   whose reads were overdue.
// - A worker receives only segments of its own user.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/loose_threads.h"
#include "server/workers/event_set.h"
#include "server/workers/restart.h"
#include "server/workers/row_decoders.h"
#include "server/workers/shared_segments.h"
#include "server/workers/sleeping_workers.h"
#include "server/workers/slots/item_times.h"
#include "server/workers/slots/worker_slots.h"
#include "server/workers/supervisor_options.h"
#include "server/workers/work.h"
#include "server/workers/worker_process.h"
#include "server/workers/worker_view.h"

namespace penstock::workers {

class Supervisor final : public RowDecoders {
 public:
  // `start_process`: starts a worker process.
  explicit Supervisor(SupervisorOptions options, StartProcess start_process = StartChildProcess);
  ~Supervisor() override;  // kills and reaps the workers, joins the readers

  // Starts the workers. Call it once. **Errors**: why the first worker could not be started.
  absl::Status Start();
  // If the number decreases, workers finish their items first.
  absl::Status SetCount(uint32_t count);

  // Unavailable, with the reason, once a worker stays down because the budget is used up.
  // Permanent.
  const absl::Status& status() const { return restarts_.status(); }

  // Readable when Collect may have something to do. Owned by the supervisor.
  int event_fd() const { return events_.fd(); }

  // Adds a segment of one user for use by that user's items, or removes one that no item uses. The
  // descriptor is duplicated.
  absl::Status AddSegment(uint32_t segment, uint32_t user, const posix::Fd& memory, uint64_t bytes);
  void RemoveSegment(uint32_t segment);

  size_t HeadroomFor(uint32_t user, uint32_t most_worker_slots = UINT32_MAX) const override {
    return slots_.HeadroomFor(user, Depth(user), MostSlots(user, most_worker_slots), now_);
  }
  void Submit(const WorkItem& item, uint32_t most_worker_slots = UINT32_MAX) override;
  bool MayReadAside() const override { return loose_.CanStart(); }

  std::vector<SlotHolding> Holdings() const override {
    return slots_.Holdings(now_, asleep_.Aside(now_));
  }
  // The processes that have served a user, at worker slots and asleep.
  using Served = ServingProcess;
  std::vector<Served> WhoIsServed() const;
  // Processes that ended since the last call, with the CPU time that they had used.
  std::vector<std::pair<Served, base::Duration>> TakeDismissed() {
    return std::exchange(dismissed_, {});
  }
  void GiveWay(uint32_t user) override { slots_.GiveWay(user, now_); }
  void NobodyWaits() override { slots_.NobodyWaits(); }
  void SetContended(bool contended) override { contended_ = contended; }

  std::vector<uint64_t> TakeOverdue() override { return std::exchange(overdue_, {}); }

  // Also notices dead workers.
  std::vector<Outcome> Collect(base::TimePoint now) override;

  std::vector<WorkerDeath> TakeDeaths() override { return std::exchange(deaths_, {}); }

  // Handles time-outs and restarts. Call it about every 100 ms.
  void Tick(base::TimePoint now);

  std::vector<WorkerView> View(base::TimePoint now) const { return slots_.View(now); }
  // Worker slots that are ready, or have no worker because nobody needs one.
  uint32_t running() const { return slots_.serving(now_); }
  uint32_t count() const override { return static_cast<uint32_t>(slots_.size()); }
  // Processes that sleep or were set aside, in addition to those at worker slots; at most as many
  // as there are worker slots.
  uint32_t asleep() const { return static_cast<uint32_t>(asleep_.processes()); }
  // Since the start, including workers that retired.
  uint64_t restarts() const { return slots_.restarts(); }
  // Workers that their sandbox killed, since the start.
  uint64_t forbidden_calls() const { return forbidden_calls_; }
  // Mean fraction of the last moment that workers spent on samples.
  double utilisation() const { return slots_.utilisation(); }

 private:
  absl::Status AddWorkerSlot();
  absl::StatusOr<std::unique_ptr<UserWorker>> NewUserWorker(uint32_t user, uint32_t number);
  absl::Status StartProcessOf(UserWorker& worker);
  void StartWorkerAt(WorkerSlot& slot);
  size_t Depth(uint32_t user) const;
  uint32_t MostSlots(uint32_t user, uint32_t most) const;
  bool MakeReady(WorkerSlot& slot, uint32_t user);
  bool LetUserHave(WorkerSlot& slot, uint32_t user);
  void Lose(const WorkItem& item);
  void NoteDeath(const UserWorker& worker, const DeadWorker& dead);
  void NoteOverdue(base::TimePoint now);
  void SetAsideSlow(base::TimePoint now);
  void CollectFrom(UserWorker& asleep, base::TimePoint now, std::vector<Outcome>& outcomes);
  void DismissUnused(base::TimePoint now);
  void Dismiss(std::unique_ptr<UserWorker> worker);
  void DismissAll(std::vector<std::unique_ptr<UserWorker>> workers);
  void ReapDying();
  void RemoveRetired();
  template <typename Visit>
  void ForEachWorker(const Visit& visit) const;

  const SupervisorOptions options_;
  const StartProcess start_process_;
  Restarts restarts_;
  EventSet events_;
  posix::Fd wake_;  // signalled by the queues' readers
  EventSet::Watch wake_watch_;
  posix::LooseThreads loose_;  // detached threads; declared after what they use
  SharedSegments segments_;
  bool starting_ = false;  // during Start, when nobody is served yet and waiting is allowed
  WorkerSlots slots_;
  SleepingWorkers asleep_;
  // Killed, and not yet dead: their items end when nobody can write their rows any more.
  std::vector<std::unique_ptr<UserWorker>> dying_;
  // Queues without a worker that still have items being read with `aside`.
  std::vector<std::unique_ptr<WorkerQueue>> leaving_;
  ItemTimes item_times_;   // of users who have a worker
  base::TimePoint now_{};  // of the last Collect or Tick
  bool contended_ = false;
  std::vector<std::pair<Served, base::Duration>> dismissed_;
  std::vector<WorkerDeath> deaths_;
  uint64_t forbidden_calls_ = 0;
  std::vector<Outcome> ended_;  // not yet collected
  std::vector<uint64_t> overdue_;
};

}  // namespace penstock::workers
