// What the supervisor does about workers that end, hang or lie, and about items that end.
#include <algorithm>

#include "common/base/check.h"
#include "server/workers/supervisor.h"
#include "server/workers/worker_slot.h"

namespace penstock::workers {

void Supervisor::CollectSlot(WorkerSlot& worker_slot, base::TimePoint now,
                             std::vector<Outcome>& outcomes) {
  if (worker_slot.user_worker == nullptr) return;
  UserWorker& user_worker = *worker_slot.user_worker;
  const size_t before = outcomes.size();
  if (CollectWorker(user_worker, now, outcomes) && posix::IsGone(user_worker.worker->pidfd())) {
    if (const std::optional<Reaped> reaped = Reap(user_worker, now, outcomes))
      AfterDeath(worker_slot, *reaped, now);
  }
  Charge(worker_slot, before, outcomes);
  if (!user_worker.IsFree()) return;
  worker_slot.gives_way = false;
  worker_slot.busy_since.reset();
}

// Whether there is a worker.
bool Supervisor::CollectWorker(UserWorker& user_worker, base::TimePoint now,
                               std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  if (user_worker.worker) posix::Drain(user_worker.worker->link().done_event());
  bool sound = user_worker.queue->Collect(now, outcomes);
  // Announce the sleep, then look once more: a completion in between rings nobody.
  user_worker.queue->AnnounceSleep();
  sound = user_worker.queue->Collect(now, outcomes) && sound;
  user_worker.Ended(outcomes, before);
  if (outcomes.size() > before) user_worker.free_since = now;
  if (!user_worker.worker) return false;
  if (!user_worker.ready_at && user_worker.worker->link().ready()) user_worker.ready_at = now;
  if (user_worker.verdict == Verdict::kNone && (!sound || user_worker.queue->IsCrowded())) {
    user_worker.verdict = sound ? Verdict::kCrowded : Verdict::kBroken;
    user_worker.worker->Kill();
  }
  return true;
}

// What the outcomes from there on cost: the time for which the worker slot was taken by them, which
// is paid by the first.
void Supervisor::Charge(WorkerSlot& worker_slot, size_t from, std::vector<Outcome>& outcomes) {
  if (outcomes.size() == from) return;
  const base::TimePoint now = base::Now();
  // What was read aside took no worker slot until it was read.
  outcomes[from].times.taken =
      worker_slot.busy_since ? now - *worker_slot.busy_since : outcomes[from].times.decode;
  worker_slot.busy_since = now;
  const auto items = static_cast<int64_t>(outcomes.size() - from);
  uint64_t done = 0;
  for (size_t i = from; i < outcomes.size(); ++i) {
    outcomes[i].worker = worker_slot.number;
    done += outcomes[i].kind == OutcomeKind::kDone ? 1 : 0;
  }
  worker_slot.decoded += done;
  if (done > 0) worker_slot.back_off.Reset();
  base::Duration& mean = users_[worker_slot.user_worker->user].item;
  const base::Duration each = outcomes[from].times.taken / items;
  mean = mean == base::Duration::zero() ? each : mean + (each - mean) / 4;
}

std::optional<Supervisor::Reaped> Supervisor::Reap(UserWorker& user_worker, base::TimePoint now,
                                                   std::vector<Outcome>& outcomes) {
  const std::optional<posix::Exit> exit = user_worker.worker->Reap();
  if (!exit) return std::nullopt;
  Unwatch(user_worker.worker->link().done_event());
  Unwatch(user_worker.worker->pidfd());
  const size_t first = outcomes.size();
  user_worker.queue->Collect(now, outcomes);  // what it still finished
  Reaped reaped{.reason = Describe(user_worker.verdict, *exit),
                .how = Describe(user_worker.verdict, *exit),
                .was_ready = user_worker.ready_at || user_worker.worker->link().ready(),
                .blameless = IsBlameless(user_worker.verdict),
                .account = user_worker.last_account};
  if (const int error = user_worker.worker->StartError(); error != 0)
    reaped.reason = std::string(base::ErrnoStatus(error, "it could not be started").message());
  const size_t in_hand = outcomes.size();  // comes first
  const auto oldest = user_worker.queue->OldestAtWorker();
  if (oldest && oldest->started)
    absl::StrAppend(&reaped.reason, " with sample ", oldest->sample, " (",
                    oldest->dataset->path(oldest->sample), ") in hand");
  user_worker.queue->Detach(EndOf(user_worker.verdict, *exit), outcomes);
  for (const UserWorker::Given& each : user_worker.given)
    if (oldest && oldest->started && each.id == outcomes[in_hand].id) reaped.account = each.account;
  user_worker.Ended(outcomes, first);
  if (!reaped.was_ready || reaped.blameless) reaped.account = 0;
  deaths_.push_back({user_worker.number, user_worker.worker->pid(), reaped.reason, user_worker.user,
                     reaped.account});
  user_worker.worker.reset();
  user_worker.verdict = Verdict::kNone;
  return reaped;
}

// Whoever pays for the death also waits before the next attempt: the worker slot need not.
void Supervisor::AfterDeath(WorkerSlot& worker_slot, const Reaped& reaped, base::TimePoint now) {
  worker_slot.last_death = reaped.reason;
  worker_slot.died = true;
  worker_slot.failed_starts = reaped.was_ready ? 0 : worker_slot.failed_starts + 1;
  if (reaped.blameless || reaped.account != 0) return;
  ScheduleRestart(worker_slot, now, reaped.how);
}

// Everybody is told of it, so that `reason` names no sample.
void Supervisor::ScheduleRestart(WorkerSlot& worker_slot, base::TimePoint now,
                                 const std::string& reason) {
  if (MayTryAgain(worker_slot, now)) {
    worker_slot.closed_until = now + worker_slot.back_off.Next();
    return;
  }
  worker_slot.stopped = true;
  status_ = absl::UnavailableError(absl::StrCat(
      "workers died too often (", options_.budget.restarts, " restarts in ",
      std::chrono::duration_cast<std::chrono::seconds>(options_.budget.window).count(),
      " s, or as many in a row without one that was ready, are spent); the last one was ", reason,
      "; see its standard error, then open again"));
}

bool Supervisor::MayTryAgain(const WorkerSlot& worker_slot, base::TimePoint now) {
  return worker_slot.failed_starts <= options_.budget.restarts && budget_.Take(now);
}

void Supervisor::Tick(base::TimePoint now) {
  now_ = now;
  loose_.Sweep();
  NoteOverdue(now);
  for (const auto& user_worker : asleep_) TickWorker(*user_worker, now);
  for (const auto& worker_slot : worker_slots_) {
    if (worker_slot->user_worker != nullptr) TickWorker(*worker_slot->user_worker, now);
    const bool waits = worker_slot->died && worker_slot->user_worker != nullptr &&
                       !worker_slot->user_worker->worker;
    if (waits && !worker_slot->stopped && !worker_slot->retiring &&
        now >= worker_slot->closed_until)
      Restart(*worker_slot, now);
    worker_slot->NoteBusy();
    worker_slot->utilisation.Update(now, worker_slot->busy_ns);
  }
  DismissUnused(now);
  RemoveRetired();
}

// What waits in queues for the same storage would take one queue after the other.
void Supervisor::NoteOverdue(base::TimePoint now) {
  std::vector<WorkerQueue*> queues;
  for (const auto& worker_slot : worker_slots_)
    if (worker_slot->user_worker != nullptr)
      queues.push_back(worker_slot->user_worker->queue.get());
  for (const auto& user_worker : asleep_) queues.push_back(user_worker->queue.get());
  for (WorkerQueue* queue : queues) {
    for (const WorkerQueue::OverdueItem& item : queue->TakeOverdue(now)) {
      overdue_.push_back(item.id);
      for (WorkerQueue* other : queues) other->HandBack(*item.dataset);
    }
  }
}

void Supervisor::TickWorker(UserWorker& user_worker, base::TimePoint now) {
  if (user_worker.queue->held() > 0) user_worker.free_since = now;
  if (user_worker.worker) CheckTimeout(user_worker, now);
}

void Supervisor::CheckTimeout(UserWorker& user_worker, base::TimePoint now) {
  if (user_worker.verdict != Verdict::kNone) return;
  CheckStart(user_worker, now);
  if (!user_worker.ready_at) return;
  // Also one that is not started: a stopped worker starts nothing. What was sent to a worker before
  // it was ready waits for it, not the other way round.
  const auto oldest = user_worker.queue->OldestAtWorker();
  if (!oldest || now - std::max(oldest->since, *user_worker.ready_at) <= options_.sample_timeout)
    return;
  user_worker.verdict = Verdict::kTimedOut;
  user_worker.worker->Kill();  // its death makes event_fd readable; Collect does the rest
}

void Supervisor::CheckStart(UserWorker& user_worker, base::TimePoint now) {
  if (user_worker.ready_at) return;
  if (!user_worker.started_at) user_worker.started_at = now;
  if (user_worker.worker->link().ready()) {
    user_worker.ready_at = now;
  } else if (now - *user_worker.started_at > options_.start_timeout) {
    user_worker.verdict = Verdict::kNotReady;
    user_worker.worker->Kill();
  }
}

void Supervisor::CouldNotStart(WorkerSlot& worker_slot, const absl::Status& why,
                               base::TimePoint now) {
  worker_slot.last_death = std::string(why.message());
  worker_slot.died = true;
  ++worker_slot.failed_starts;
  ScheduleRestart(worker_slot, now, worker_slot.last_death);
}

// A worker for the worker slot's user's worker.
void Supervisor::Restart(WorkerSlot& worker_slot, base::TimePoint now) {
  if (const absl::Status started = StartWorker(*worker_slot.user_worker); !started.ok()) {
    return CouldNotStart(worker_slot, started, now);
  }
  if (worker_slot.died) ++worker_slot.restarts;
  worker_slot.died = false;
}

}  // namespace penstock::workers
