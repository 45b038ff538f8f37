// Decodes rows in worker processes, each of which serves one user id from its start to its end, and
// keeps those processes alive.
//
// There are `count` worker slots, and at each at most one worker that decodes. A worker slot is for
// the user whose rows it was given last; once they are done, it is for whoever gives it rows next.
// The worker of another user is put to sleep and kept for a while, so that users who take turns
// need not wait for a start each time: of those there are at most `count`, too, and they have
// nothing to decode. A worker of nobody who has rows is ended. Which user comes next is the
// caller's business: it asks HeadroomFor, and has worker slots given back by GiveWay.
//
// Owned by the feed's runner thread, which alone calls it (the queues' reader threads are inside).
// That thread must live as long as the supervisor: workers are killed when the thread that started
// them ends. No call waits for a worker or a source, but the end of the object, which waits for
// reads in progress. Nothing is logged: View and status say what happened.
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
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/units.h"
#include "common/posix/fd.h"
#include "common/posix/loose_threads.h"
#include "server/decode/core/spec.h"
#include "server/workers/restart.h"
#include "server/workers/work.h"
#include "server/workers/worker_queue.h"

namespace penstock::workers {

// Reads that do not come back, and such as are made aside. Beyond them queues are held up.
inline constexpr size_t kMaxLoose = 128;

struct SupervisorOptions {
  uint32_t count = 1;                // workers
  std::string program;               // empty: penstock-worker beside the running program
  uint32_t user = 0;                 // for whom workers are started before anybody wants any
  uint32_t read_ahead = 2;           // items a queue holds besides the one in its worker's hand
  uint64_t arena_bytes = 32u << 20;  // input memory a worker, touched as needed; ≥ limits.max_bytes
  uint64_t memory_bytes = base::kGiB;  // that a worker may allocate for itself
  decode::Limits limits;
  base::Duration start_timeout = std::chrono::seconds(10);  // until a new worker says it is ready
  base::Duration sample_timeout = std::chrono::seconds(30);
  base::Duration patience = source::kPatience;          // a read that takes longer is overdue
  base::Duration keep_idle = std::chrono::seconds(30);  // a worker that has nothing to do
  base::Duration keep_asleep = std::chrono::seconds(5);  // … while another user has its worker slot
  // While several users want worker slots: so long a worker slot is taken by what it was given, at
  // most, but for a single sample that takes longer.
  base::Duration turn = std::chrono::milliseconds(25);
  base::BackOff::Options back_off{.first = std::chrono::milliseconds(100),
                                  .longest = std::chrono::seconds(10)};
  // Of deaths that are no sample's and no user's: of workers that were never given anything, or
  // were never ready. A worker slot stays down after so many restarts within the window; or,
  // because pauses would keep it below that for ever, after so many in a row that were never ready.
  RestartBudget::Options budget{.restarts = 20, .window = std::chrono::minutes(1)};
};

// InvalidArgument names the number and what is possible.
absl::Status Validate(const SupervisorOptions& options);

enum class WorkerState {
  kStarting,  // it has not said yet that it is ready
  kRunning,
  kRestarting,  // dead; the next one starts after the back-off
  kStopped,     // dead, and the restart budget is spent
  kRetiring,    // finishes what it has, then goes
  kUnused,      // there is none: nobody wants one
};

struct WorkerView {
  // Datasets as items named them: until their outcomes are collected.
  struct InHand {
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;
    base::TimePoint since;
  };
  struct Stall {
    const source::Dataset* dataset = nullptr;
    base::TimePoint since;
    std::string reason;
  };
  uint32_t number = 0;
  pid_t pid = 0;                 // 0: none now
  std::optional<uint32_t> user;  // whom it serves, or served last
  WorkerState state = WorkerState::kRunning;
  uint64_t decoded = 0;  // rows, by all processes of this queue
  uint64_t restarts = 0;
  double utilisation = 0;  // share of the last second or so spent on samples
  std::optional<InHand> in_hand;
  std::optional<Stall> stalled;  // its source
  // "killed by signal 11 (…) with sample 7 (/data/seven.jpg) in hand", or empty.
  std::string last_death;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);
  ~Supervisor();  // kills and reaps the workers, joins the readers

  // Starts the workers; an error says why the first could not be started. Once.
  absl::Status Start();
  // Fewer workers finish what they have first.
  absl::Status SetCount(uint32_t count);

  // Unavailable, with the reason, once a worker stays down because the budget is spent. For good.
  const absl::Status& status() const { return status_; }

  // Readable when Collect may have something to do. Owned by the supervisor.
  int event_fd() const { return epoll_.get(); }

  // A segment of one user that its items may name, and one that none names any more. The descriptor
  // is duplicated.
  absl::Status AddSegment(uint32_t segment, uint32_t user, const posix::Fd& memory, uint64_t bytes);
  void RemoveSegment(uint32_t segment);

  // How many more items of the user Submit takes now, with so many worker slots at most: few, so
  // that the earliest batch is finished first.
  size_t HeadroomFor(uint32_t user, uint32_t most_worker_slots = UINT32_MAX) const;
  // An item for which there is no room is lost.
  void Submit(const WorkItem& item);
  // Whether one more may be read aside, while there is room.
  bool MayReadAside() const { return loose_.CanStart(); }

  // Who has worker slots now: all that have something to do.
  struct Holding {
    uint32_t user = 0;
    uint32_t worker_slots = 0;
    uint32_t giving_way = 0;  // of those: they take nothing more until they are free
  };
  std::vector<Holding> Holdings() const;
  // The processes that were given a user's items, at worker slots and asleep.
  struct Served {
    pid_t pid = 0;
    uint32_t user = 0;
  };
  std::vector<Served> WhoIsServed() const;
  // Those that were dismissed since the last call, with the CPU time that they had used by then.
  std::vector<std::pair<Served, base::Duration>> TakeDismissed() {
    return std::exchange(dismissed_, {});
  }
  // One more worker slot of the user takes nothing more, so that somebody else can have it.
  void GiveWay(uint32_t user);
  // Nobody waits for a worker slot: all go on.
  void NobodyWaits();
  // Several users want worker slots: each is given little at once.
  void SetContended(bool contended) { contended_ = contended; }

  // The items whose reads do not come back, as the last ticks found; each told once. They take no
  // place any more, and end like all others.
  std::vector<uint64_t> TakeOverdue() { return std::exchange(overdue_, {}); }

  // What has ended since the last call; notices dead workers.
  std::vector<Outcome> Collect(base::TimePoint now);

  // The workers that died since the last call, oldest first.
  struct Death {
    uint32_t number = 0;
    pid_t pid = 0;
    std::string reason;  // as WorkerView::last_death
    uint32_t user = 0;
    // Of the item that it had in hand, else of the last one that it was given. 0: nobody's fault.
    uint64_t account = 0;
  };
  std::vector<Death> TakeDeaths() { return std::exchange(deaths_, {}); }

  // Time-outs and restarts; call it every 100 ms or so.
  void Tick(base::TimePoint now);

  std::vector<WorkerView> View(base::TimePoint now) const;
  // Posts whose worker has said that it is ready, or that have none because nobody wants one; and
  // all.
  uint32_t running() const;
  uint32_t count() const { return static_cast<uint32_t>(worker_slots_.size()); }
  // Processes that sleep, beside those at worker slots: never more than there are worker slots.
  uint32_t asleep() const;
  // Since the start, those of workers that retired, too.
  uint64_t restarts() const;
  // Share of the last second or so that they spent on samples, on average.
  double utilisation() const;

 private:
  struct UserWorker;  // a queue and its worker, of one user
  struct WorkerSlot;  // a place for a user's worker that has something to do
  struct SharedSegment {
    posix::Fd memory;
    uint64_t bytes = 0;
    uint32_t user = 0;
  };
  struct User {
    base::Duration item{};  // how long one takes a worker slot, on average
  };

  absl::Status AddWorkerSlot();
  absl::Status StartWorker(UserWorker& user_worker);
  bool Show(UserWorker& user_worker, uint32_t segment);
  void Condemn(UserWorker& user_worker, const absl::Status& sent);
  absl::Status Watch(const posix::Fd& fd);
  void Unwatch(const posix::Fd& fd);

  // Who is at which worker slot (worker_slots.cc).
  WorkerSlot* SlotFor(const WorkItem& item) const;
  size_t Depth(uint32_t user) const;
  bool Man(WorkerSlot& worker_slot, uint32_t user);
  std::unique_ptr<UserWorker> Wake(uint32_t user);
  void PutToSleep(WorkerSlot& worker_slot);
  void Dismiss(std::unique_ptr<UserWorker> user_worker);
  void DismissUnused(base::TimePoint now);
  void Lose(const WorkItem& item);
  void EndTheOldestAsleep();
  void RemoveRetired();

  // What ends, and what dies (watch.cc).
  void CollectSlot(WorkerSlot& worker_slot, base::TimePoint now, std::vector<Outcome>& outcomes);
  bool CollectWorker(UserWorker& user_worker, base::TimePoint now, std::vector<Outcome>& outcomes);
  void Charge(WorkerSlot& worker_slot, size_t from, std::vector<Outcome>& outcomes);
  struct Reaped {
    std::string reason, how;  // with the sample that it had in hand, and without
    bool was_ready = false, blameless = false;
    uint64_t account = 0;
  };
  std::optional<Reaped> Reap(UserWorker& user_worker, base::TimePoint now,
                             std::vector<Outcome>& outcomes);
  void AfterDeath(WorkerSlot& worker_slot, const Reaped& reaped, base::TimePoint now);
  void ScheduleRestart(WorkerSlot& worker_slot, base::TimePoint now, const std::string& reason);
  void NoteOverdue(base::TimePoint now);
  void TickWorker(UserWorker& user_worker, base::TimePoint now);
  void CheckTimeout(UserWorker& user_worker, base::TimePoint now);
  void CheckStart(UserWorker& user_worker, base::TimePoint now);
  bool MayTryAgain(const WorkerSlot& worker_slot, base::TimePoint now);
  void Restart(WorkerSlot& worker_slot, base::TimePoint now);
  void CouldNotStart(WorkerSlot& worker_slot, const absl::Status& why, base::TimePoint now);

  const SupervisorOptions options_;
  absl::Status status_;
  RestartBudget budget_;
  posix::Fd epoll_;
  posix::Fd wake_;             // rung by the queues' readers
  posix::LooseThreads loose_;  // those that were left behind; after what they touch
  std::map<uint32_t, SharedSegment> segments_;
  bool starting_ = false;  // nobody is served yet: a start may be waited for
  std::vector<std::unique_ptr<WorkerSlot>> worker_slots_;
  std::vector<std::unique_ptr<UserWorker>> asleep_;  // the one that fell asleep last is the last
  std::vector<std::pair<Served, base::Duration>> dismissed_;
  std::map<uint32_t, User> users_;  // with a user's worker
  base::TimePoint now_{};           // of the last look around
  bool contended_ = false;
  uint64_t retired_restarts_ = 0;
  std::vector<Death> deaths_;
  // Lanes without a worker, whose items are being read aside yet.
  std::vector<std::unique_ptr<WorkerQueue>> leaving_;
  std::vector<Outcome> ended_;  // not collected yet
  std::vector<uint64_t> overdue_;
};

}  // namespace penstock::workers
