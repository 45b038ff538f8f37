// A queue and its worker process, which serve one user for their whole life. A UserWorker is either
// at a worker slot, or asleep, that is, kept for its user while another user has the slot, or set
// aside: it finishes its items although another user has the slot.
//
// **Ownership**: owned by the worker slot, or by the sleeping workers. **Thread safety**: the
// supervisor's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/workers/event_set.h"
#include "server/workers/given_items.h"
#include "server/workers/queue/worker_queue.h"
#include "server/workers/worker_life.h"
#include "server/workers/worker_process.h"

namespace penstock::workers {

class UserWorker {
 public:
  // `wake` and `loose`: as for WorkerQueue.
  UserWorker(uint32_t user, const WorkerQueue::Options& queue, const posix::Fd& wake,
             posix::LooseThreads& loose)
      : user_(user),
        number_(queue.number),
        queue_(std::make_unique<WorkerQueue>(queue, wake, loose)) {}

  uint32_t user() const { return user_; }
  uint32_t number() const { return number_; }  // of the worker slot for which it was created
  // Whether its reader thread could be started. **Required** by everything below.
  bool has_reader() const { return queue_->has_reader(); }

  // The process. Start replaces a dead one.
  struct Process {
    // Shared with the queue, whose reader may outlast the process.
    std::shared_ptr<SupervisorEndpoint> endpoint;
    std::unique_ptr<WorkerProcess> process;
    EventSet::Watch done, ended;
  };
  void Start(Process process, base::TimePoint now);
  bool has_process() const { return process_.has_value(); }
  pid_t pid() const { return process_ ? process_->process->pid() : 0; }
  bool is_ready() const { return process_ && process_->endpoint->ready(); }
  bool is_condemned() const { return process_ && life_.is_condemned(); }
  bool was_given_items() const { return process_ && given_.last_account() != 0; }
  void Kill() {
    if (process_) process_->process->Kill();
  }

  // Sends the worker a segment unless it already has it. False if the message could not be sent;
  // the worker must then not get an item that uses the segment.
  bool ShowSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes);
  void ForgetSegment(uint32_t segment);

  // Returns whether the item uses headroom, which items read with `aside` don't.
  bool Give(const WorkItem& item);
  size_t outstanding() const { return queue_->outstanding(); }
  // Nothing is left to decode, though a read may still be blocked.
  bool IsFree() const { return outstanding() == 0; }
  // Whether it has no items at all.
  bool IsEmpty() const { return queue_->held() == 0; }
  // It leaves its worker slot with unfinished items, and finishes them beside the slots. `since`:
  // from then on its time has not been charged.
  void SetAside(base::TimePoint since) { aside_since_ = since; }
  // Whether it was set aside and still has items.
  bool is_set_aside() const { return aside_since_.has_value(); }
  base::Duration Uncharged(base::TimePoint now) const {
    return aside_since_ ? now - *aside_since_ : base::Duration::zero();
  }
  // Charges the time of a worker that was set aside to the first of the items that ended. Returns
  // the mean cost, if there is one.
  std::optional<base::Duration> ChargeAside(std::span<Outcome> ended, base::TimePoint now);

  // Since when it has had nothing to do, as seen by Collect and Tick.
  base::TimePoint free_since() const { return free_since_; }
  void BeFreeSince(base::TimePoint now) { free_since_ = now; }

  // Appends the current outcomes. Kills a worker that wrote something invalid, and one whose input
  // memory is full of blocked reads.
  void Collect(base::TimePoint now, std::vector<Outcome>& outcomes);
  // If the process has ended: appends the outcomes of its items, and returns how it ended. There is
  // then no process until the next Start.
  std::optional<DeadWorker> ReapIfEnded(base::TimePoint now, std::vector<Outcome>& outcomes);
  // Kills a worker that takes too long.
  void Tick(base::TimePoint now, const WorkerLife::TimeOuts& time_outs);
  // The time that the worker says it spent on samples since the last call.
  uint64_t TakeBusyNs();

  std::optional<WorkerQueue::Oldest> InHand() const;
  std::optional<StalledRead> Stalled(base::TimePoint now) const { return queue_->Stalled(now); }
  std::vector<WorkerQueue::OverdueItem> TakeOverdue(base::TimePoint now) {
    return queue_->TakeOverdue(now);
  }
  void HandBack(const source::Dataset& dataset) { queue_->HandBack(dataset); }

  // Kills the process; what it says until it is dead wakes nobody.
  void BeginEnd() {
    Kill();
    if (process_) process_->done = {};
  }
  // Whether there is no process, or it has ended after BeginEnd; never waits.
  bool HasEnded() { return !process_ || process_->process->Reap().has_value(); }
  // Ends the process, and waits for its end. Returns the queue if a read in it is blocked.
  std::unique_ptr<WorkerQueue> Dismiss(std::vector<Outcome>& outcomes);

 private:
  void CondemnUnsent(const absl::Status& sent);
  DeadWorker Autopsy(const posix::Exit& exit, base::TimePoint now, std::vector<Outcome>& outcomes);

  const uint32_t user_, number_;
  std::unique_ptr<WorkerQueue> queue_;
  std::optional<Process> process_;  // declared after the queue, so it is destroyed first
  WorkerLife life_;
  std::set<uint32_t> shown_;  // the segments that the worker has received
  GivenItems given_;
  uint64_t seen_busy_ns_ = 0;
  base::TimePoint free_since_{};
  std::optional<base::TimePoint> aside_since_;  // set while it is set aside
};

}  // namespace penstock::workers
