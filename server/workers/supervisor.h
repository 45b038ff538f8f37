// Decodes rows in worker processes, each of which serves one user id from its start to its end, and
// keeps those processes alive. A thin loop over parts that are tested alone: worker slots
// (worker_slots.h), the workers of users who have none (sleeping_workers.h), one worker's life
// (user_worker.h), and when to start another (restart.h).
//
// There are `count` worker slots, and at each at most one worker that decodes. A worker slot is for
// the user whose rows it was given last; once they are done, it is for whoever gives it rows next.
// The worker of another user is put to sleep and kept for a while, so that users who take turns
// need not wait for a start each time: of those there are at most `count`, too, and they have
// nothing to decode. A worker of nobody who has rows is ended. Which user comes next is the
// caller's business: it asks HeadroomFor, and has worker slots given back by GiveWay.
//
// **Ownership**: the feed's engine. **Thread safety**: used by the feed's runner thread alone (the
// queues' reader threads are inside). That thread must live as long as the supervisor: workers are
// killed when the thread that started them ends. No call waits for a worker or a source, but the
// destructor, which waits for reads in progress. Nothing is logged: View and status say what
// happened.
//
// `now` is the SteadyClock's time: the readers stamp with the same clock.
//
// What always holds:
//  - Each submitted item ends in exactly one outcome, unless the supervisor ends first.
//  - An item's outcome is reported only when nobody writes its row any more: a worker that was
//    lost is dead and reaped before.
//  - All items of one queue end in the order of their submission, except those that need no worker,
//    and those whose reads did not come back in time.
//  - A worker is told of segments of its own user alone.
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
#include "server/workers/item_times.h"
#include "server/workers/restart.h"
#include "server/workers/shared_segments.h"
#include "server/workers/sleeping_workers.h"
#include "server/workers/supervisor_options.h"
#include "server/workers/work.h"
#include "server/workers/worker_process.h"
#include "server/workers/worker_slots.h"
#include "server/workers/worker_view.h"

namespace penstock::workers {

class Supervisor {
 public:
  // `start_process`: how a worker process is started.
  explicit Supervisor(SupervisorOptions options, StartProcess start_process = StartChildProcess);
  ~Supervisor();  // kills and reaps the workers, joins the readers

  // Starts the workers; an error says why the first could not be started. Once.
  absl::Status Start();
  // Fewer workers finish what they have first.
  absl::Status SetCount(uint32_t count);

  // Unavailable, with the reason, once a worker stays down because the budget is spent. For good.
  const absl::Status& status() const { return restarts_.status(); }

  // Readable when Collect may have something to do. Owned by the supervisor.
  int event_fd() const { return events_.fd(); }

  // A segment of one user that its items may name, and one that none names any more. The descriptor
  // is duplicated.
  absl::Status AddSegment(uint32_t segment, uint32_t user, const posix::Fd& memory, uint64_t bytes);
  void RemoveSegment(uint32_t segment);

  // How many more items of the user Submit takes now, with so many worker slots at most: few, so
  // that the earliest batch is finished first.
  size_t HeadroomFor(uint32_t user, uint32_t most_worker_slots = UINT32_MAX) const {
    return slots_.HeadroomFor(user, Depth(user), most_worker_slots, now_);
  }
  // An item for which there is no room is lost.
  void Submit(const WorkItem& item);
  // Whether one more may be read aside.
  bool MayReadAside() const { return loose_.CanStart(); }

  // Who has worker slots now: all that have something to do.
  using Holding = SlotHolding;
  std::vector<Holding> Holdings() const { return slots_.Holdings(now_); }
  // The processes that were given a user's items, at worker slots and asleep.
  using Served = ServingProcess;
  std::vector<Served> WhoIsServed() const;
  // Those that were dismissed since the last call, with the CPU time that they had used by then.
  std::vector<std::pair<Served, base::Duration>> TakeDismissed() {
    return std::exchange(dismissed_, {});
  }
  // One more worker slot of the user takes nothing more, so that somebody else can have it.
  void GiveWay(uint32_t user) { slots_.GiveWay(user, now_); }
  // Nobody waits for a worker slot: all go on.
  void NobodyWaits() { slots_.NobodyWaits(); }
  // Several users want worker slots: each is given little at once.
  void SetContended(bool contended) { contended_ = contended; }

  // The items whose reads do not come back, as the last ticks found; each named once. They take no
  // place any more, and end like all others.
  std::vector<uint64_t> TakeOverdue() { return std::exchange(overdue_, {}); }

  // What has ended since the last call; notices dead workers.
  std::vector<Outcome> Collect(base::TimePoint now);

  // The workers that died since the last call, oldest first.
  using Death = WorkerDeath;
  std::vector<Death> TakeDeaths() { return std::exchange(deaths_, {}); }

  // Time-outs and restarts; call it every 100 ms or so.
  void Tick(base::TimePoint now);

  std::vector<WorkerView> View(base::TimePoint now) const { return slots_.View(now); }
  // Worker slots whose worker has said that it is ready, or that have none because nobody wants
  // one; and all.
  uint32_t running() const { return slots_.serving(now_); }
  uint32_t count() const { return static_cast<uint32_t>(slots_.size()); }
  // Processes that sleep, beside those at worker slots: never more than there are worker slots.
  uint32_t asleep() const { return static_cast<uint32_t>(asleep_.processes()); }
  // Since the start, those of workers that retired, too.
  uint64_t restarts() const { return slots_.restarts(); }
  // Share of the last second or so that they spent on samples, on average.
  double utilisation() const { return slots_.utilisation(); }

 private:
  absl::Status AddWorkerSlot();
  absl::StatusOr<std::unique_ptr<UserWorker>> NewUserWorker(uint32_t user, uint32_t number);
  absl::Status StartProcessOf(UserWorker& worker);
  void StartWorkerAt(WorkerSlot& slot);
  size_t Depth(uint32_t user) const;
  bool MakeReady(WorkerSlot& slot, uint32_t user);
  bool LetUserHave(WorkerSlot& slot, uint32_t user);
  void Lose(const WorkItem& item);
  void NoteDeath(const UserWorker& worker, const DeadWorker& dead);
  void NoteOverdue(base::TimePoint now);
  void DismissUnused(base::TimePoint now);
  void Dismiss(std::unique_ptr<UserWorker> worker);
  void DismissAll(std::vector<std::unique_ptr<UserWorker>> workers);
  void RemoveRetired();
  template <typename Visit>
  void ForEachWorker(const Visit& visit) const;

  const SupervisorOptions options_;
  const StartProcess start_process_;
  Restarts restarts_;
  EventSet events_;
  posix::Fd wake_;  // notified by the queues' readers
  EventSet::Watch wake_watch_;
  posix::LooseThreads loose_;  // those that were left behind; after what they touch
  SharedSegments segments_;
  bool starting_ = false;  // nobody is served yet: a start may be waited for
  WorkerSlots slots_;
  SleepingWorkers asleep_;
  // Queues without a worker, whose items are being read aside yet.
  std::vector<std::unique_ptr<WorkerQueue>> leaving_;
  ItemTimes item_times_;   // of users who have a worker
  base::TimePoint now_{};  // of the last look around
  bool contended_ = false;
  std::vector<std::pair<Served, base::Duration>> dismissed_;
  std::vector<Death> deaths_;
  std::vector<Outcome> ended_;  // not collected yet
  std::vector<uint64_t> overdue_;
};

}  // namespace penstock::workers
