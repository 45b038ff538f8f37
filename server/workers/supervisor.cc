#include "server/workers/supervisor.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "common/posix/process.h"

namespace penstock::workers {

Supervisor::Supervisor(SupervisorOptions options, StartProcess start_process)
    : options_(std::move(options)),
      start_process_(std::move(start_process)),
      restarts_(options_.budget),
      loose_(kMaxLoose) {}

// Kills all at once, so that they don't die one after another.
Supervisor::~Supervisor() {
  ForEachWorker([](UserWorker& worker) { worker.Kill(); });
}

template <typename Visit>
void Supervisor::ForEachWorker(const Visit& visit) const {
  for (const auto& slot : slots_)
    if (slot->worker() != nullptr) visit(*slot->worker());
  for (const auto& worker : asleep_.all()) visit(*worker);
}

// ---- Starting ----

absl::Status Supervisor::Start() {
  PENSTOCK_CHECK(!events_.is_open());
  PENSTOCK_RETURN_IF_ERROR(Validate(options_));
  PENSTOCK_RETURN_IF_ERROR(events_.Open());
  PENSTOCK_ASSIGN_OR_RETURN(wake_, posix::MakeEvent());
  PENSTOCK_ASSIGN_OR_RETURN(wake_watch_, events_.Add(wake_));
  starting_ = true;
  const absl::Status started = SetCount(options_.count);
  starting_ = false;
  return started;
}

absl::Status Supervisor::SetCount(uint32_t count) {
  PENSTOCK_RETURN_IF_ERROR(ValidateCount(count));
  slots_.RetireBeyond(count);
  while (slots_.size() < count) PENSTOCK_RETURN_IF_ERROR(AddWorkerSlot());
  RemoveRetired();
  return absl::OkStatus();
}

absl::Status Supervisor::AddWorkerSlot() {
  const auto number = static_cast<uint32_t>(slots_.size());
  auto slot = std::make_unique<WorkerSlot>(number, options_.back_off);
  if (!options_.start_when_needed) {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<UserWorker> worker,
                              NewUserWorker(options_.user, number));
    PENSTOCK_RETURN_IF_ERROR(StartProcessOf(*worker));
    slot->SetWorker(std::move(worker));
  }
  slots_.Add(std::move(slot));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<UserWorker>> Supervisor::NewUserWorker(uint32_t user,
                                                                      uint32_t number) {
  const WorkerQueue::Options queue{
      .number = number, .limits = options_.limits, .patience = options_.patience};
  auto worker = std::make_unique<UserWorker>(user, queue, wake_, loose_);
  if (worker->has_reader()) return worker;
  return absl::ResourceExhaustedError(
      "no thread could be started to read for a worker; raise the limit on threads (ulimit -u, "
      "TasksMax)");
}

absl::Status Supervisor::StartProcessOf(UserWorker& worker) {
  UserWorker::Process started;
  PENSTOCK_ASSIGN_OR_RETURN(started.endpoint,
                            SupervisorEndpoint::Make({.arena_bytes = options_.arena_bytes,
                                                      .memory_bytes = options_.memory_bytes,
                                                      .limits = options_.limits,
                                                      .sandbox = options_.sandbox}));
  const auto wait = starting_ ? posix::Child::Wait::kForProgram : posix::Child::Wait::kForNothing;
  PENSTOCK_ASSIGN_OR_RETURN(started.process,
                            start_process_({.program = options_.program,
                                            .user = worker.user(),
                                            .number = worker.number(),
                                            .is_quiet = options_.sandbox == SandboxMode::kOn,
                                            .wait = wait},
                                           *started.endpoint));
  PENSTOCK_ASSIGN_OR_RETURN(started.done, events_.Add(started.endpoint->done_event()));
  PENSTOCK_ASSIGN_OR_RETURN(started.ended, events_.Add(started.process->pidfd()));
  PENSTOCK_FAILPOINT("worker.started");
  worker.Start(std::move(started), base::Now());
  return absl::OkStatus();
}

// Starts a process for the worker at that worker slot.
void Supervisor::StartWorkerAt(WorkerSlot& slot) {
  const absl::Status started = StartProcessOf(*slot.worker());
  if (started.ok()) return slot.state().OnStarted();
  slot.state().OnStartFailed(std::string(started.message()), now_, restarts_);
}

// ---- Items ----

absl::Status Supervisor::AddSegment(uint32_t segment, uint32_t user, const posix::Fd& memory,
                                    uint64_t bytes) {
  return segments_.Add(segment, user, memory, bytes);
}

void Supervisor::RemoveSegment(uint32_t segment) {
  segments_.Remove(segment);
  ForEachWorker([segment](UserWorker& worker) { worker.ForgetSegment(segment); });
}

// Maximum number of items of a worker slot: more of short ones, so that a wake-up serves several.
// While others wait for the slot, only as many as are done soon.
size_t Supervisor::Depth(uint32_t user) const {
  const size_t most = std::max<size_t>(options_.read_ahead + 1,
                                       item_times_.Depth(user, options_.ahead, kRingCapacity));
  return contended_ ? item_times_.Depth(user, options_.turn, most) : most;
}

// A worker that was set aside counts as one of its user's worker slots, so that a user whose
// samples hang occupies no more processes than there are worker slots.
uint32_t Supervisor::MostSlots(uint32_t user, uint32_t most) const {
  const uint32_t aside = asleep_.SetAsideOf(user);
  if (aside == 0) return most;
  const uint32_t may_have = std::min(most, count());
  return may_have - std::min(may_have, aside);
}

void Supervisor::Submit(const WorkItem& item, uint32_t most_worker_slots) {
  WorkerSlot* const slot =
      slots_.Choose(item.user, Depth(item.user), MostSlots(item.user, most_worker_slots), now_);
  if (slot == nullptr || !MakeReady(*slot, item.user)) return Lose(item);
  if (!segments_.Show(*slot->worker(), item.segment)) {
    slot->state().CloseUntil(now_ + options_.back_off.first);
    return Lose(item);
  }
  slot->Give(item, base::Now());
}

void Supervisor::Lose(const WorkItem& item) {
  ended_.push_back({.id = item.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
}

// Gives the worker slot to the user, with a process. False if none could be started.
bool Supervisor::MakeReady(WorkerSlot& slot, uint32_t user) {
  const bool has_it = slot.worker() != nullptr && slot.worker()->user() == user;
  if (!has_it && !LetUserHave(slot, user)) return false;
  item_times_.Add(user);
  if (!slot.worker()->has_process()) StartWorkerAt(slot);
  if (!slot.worker()->has_process()) return false;
  slot.state().OnTaken();
  return true;
}

// Puts another user's worker to sleep. Keeps a blocked read going, so that its user makes progress
// even if others are busy.
bool Supervisor::LetUserHave(WorkerSlot& slot, uint32_t user) {
  std::unique_ptr<UserWorker> next = asleep_.Wake(user);
  if (std::unique_ptr<UserWorker> last = slot.TakeWorker()) {
    if (last->has_process() || !last->IsEmpty()) {
      asleep_.Add(std::move(last), now_);
      DismissAll(asleep_.TakeBeyond(slots_.size()));
    }
  }
  if (next == nullptr) {
    auto made = NewUserWorker(user, slot.number());
    if (!made.ok()) {
      slot.state().OnStartFailed(std::string(made.status().message()), now_, restarts_);
      return false;
    }
    next = *std::move(made);
  }
  slot.SetWorker(std::move(next));
  return true;
}

// ---- Items that end, and workers that die ----

std::vector<Outcome> Supervisor::Collect(base::TimePoint now) {
  now_ = now;
  ReapDying();
  std::vector<Outcome> outcomes = std::exchange(ended_, {});
  events_.Look();
  if (wake_watch_.TakeReady()) posix::Drain(wake_);
  for (const auto& slot : slots_)
    if (const auto dead = slot->Collect(now, restarts_, item_times_, outcomes))
      NoteDeath(*slot->worker(), *dead);
  for (const auto& worker : asleep_.all()) CollectFrom(*worker, now, outcomes);
  for (const auto& queue : leaving_) queue->Collect(now, outcomes);
  std::erase_if(leaving_, [](const auto& queue) { return queue->held() == 0; });
  RemoveRetired();
  return outcomes;
}

// Collects from a worker without a worker slot.
void Supervisor::CollectFrom(UserWorker& asleep, base::TimePoint now,
                             std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  asleep.Collect(now, outcomes);
  if (const auto dead = asleep.ReapIfEnded(now, outcomes)) NoteDeath(asleep, *dead);
  // Uses the real time, because the outcomes' own times were taken after `now`.
  if (const auto each = asleep.ChargeAside(std::span(outcomes).subspan(before), base::Now()))
    item_times_.Note(asleep.user(), *each);
}

void Supervisor::NoteDeath(const UserWorker& worker, const DeadWorker& dead) {
  PENSTOCK_FAILPOINT("worker.reaped");
  deaths_.push_back({.number = worker.number(),
                     .pid = dead.pid,
                     .reason = dead.reason,
                     .user = worker.user(),
                     .account = dead.account,
                     .forbidden_call = dead.forbidden_call,
                     .words = dead.words});
  if (dead.forbidden_call) ++forbidden_calls_;
}

void Supervisor::Tick(base::TimePoint now) {
  now_ = now;
  loose_.Sweep();
  NoteOverdue(now);
  ForEachWorker([&](UserWorker& worker) {
    worker.Tick(now, {.start = options_.start_timeout, .sample = options_.sample_timeout});
  });
  for (const auto& slot : slots_) {
    if (slot->IsRestartDue(now)) StartWorkerAt(*slot);
    slot->UpdateMeter(now);
  }
  SetAsideSlow(now);
  DismissUnused(now);
  RemoveRetired();
}

// A worker that was asked to give way and does not finish is either decoding a very large sample,
// which must not be lost, or hangs. It goes on beside the slots until it has finished or is killed.
void Supervisor::SetAsideSlow(base::TimePoint now) {
  for (const auto& slot : slots_) {
    if (asleep_.set_aside() >= slots_.size()) return;
    if (!slot->HoldsUpOthers(now, options_.give_way_within)) continue;
    asleep_.Add(slot->SetAside(now), now);
    DismissAll(asleep_.TakeBeyond(slots_.size()));
  }
}

// Otherwise items for the same storage would block one queue after another.
void Supervisor::NoteOverdue(base::TimePoint now) {
  ForEachWorker([&](UserWorker& worker) {
    for (const WorkerQueue::OverdueItem& item : worker.TakeOverdue(now)) {
      overdue_.push_back(item.id);
      ForEachWorker([&](UserWorker& other) { other.HandBack(*item.dataset); });
    }
  });
}

std::vector<Supervisor::Served> Supervisor::WhoIsServed() const {
  std::vector<Served> served;
  ForEachWorker([&](const UserWorker& worker) {
    if (worker.was_given_items()) served.push_back({.pid = worker.pid(), .user = worker.user()});
  });
  return served;
}

// ---- Workers that nobody needs ----

void Supervisor::DismissUnused(base::TimePoint now) {
  for (const auto& slot : slots_) {
    const UserWorker* worker = slot->worker();
    if (worker != nullptr && !slot->state().awaits_restart() &&
        IsUnused(*worker, now, options_.keep_idle))
      Dismiss(slot->TakeWorker());
  }
  DismissAll(asleep_.TakeUnused(now, options_.keep_asleep));
  std::set<uint32_t> users;
  ForEachWorker([&](const UserWorker& worker) { users.insert(worker.user()); });
  item_times_.ForgetIf([&](uint32_t user) { return !users.contains(user); });
}

// Ends its process, which may take seconds to give its memory back on a busy machine.
void Supervisor::Dismiss(std::unique_ptr<UserWorker> worker) {
  if (worker->was_given_items())
    if (const auto used = posix::CpuTimeOf(worker->pid()))
      dismissed_.push_back({{.pid = worker->pid(), .user = worker->user()}, *used});
  worker->BeginEnd();
  dying_.push_back(std::move(worker));
  ReapDying();
}

// Beyond as many as slots and sleepers together, waits for the end of the oldest ones.
void Supervisor::ReapDying() {
  size_t beyond = dying_.size() - std::min(dying_.size(), 2 * slots_.size());
  std::erase_if(dying_, [&](const std::unique_ptr<UserWorker>& worker) {
    const bool is_waited_for = beyond > 0;
    if (is_waited_for) --beyond;
    if (!worker->HasEnded() && !is_waited_for) return false;
    // A blocked read keeps its queue alive.
    if (auto queue = worker->Dismiss(ended_)) leaving_.push_back(std::move(queue));
    return true;
  });
}

void Supervisor::DismissAll(std::vector<std::unique_ptr<UserWorker>> workers) {
  for (auto& worker : workers) Dismiss(std::move(worker));
}

void Supervisor::RemoveRetired() {
  DismissAll(slots_.RemoveRetired());
  DismissAll(asleep_.TakeBeyond(slots_.size()));
}

}  // namespace penstock::workers
