#include "server/workers/supervisor.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "server/workers/worker_slot.h"

namespace penstock::workers {
namespace {

constexpr uint32_t kMaxWorkers = 1024;
constexpr uint64_t kPage = 4096;

}  // namespace

absl::Status Validate(const SupervisorOptions& options) {
  if (options.count > kMaxWorkers) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.count, " workers; at most ", kMaxWorkers, " are possible"));
  }
  if (options.read_ahead + 1 > kRingCapacity) {
    return absl::InvalidArgumentError(absl::StrCat(
        "read-ahead of ", options.read_ahead, "; at most ", kRingCapacity - 1, " are possible"));
  }
  if (options.arena_bytes < options.limits.max_bytes || options.arena_bytes % kPage != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input memory of ", options.arena_bytes, " bytes a worker; a multiple of ", kPage,
        " is needed, and at least the largest file's ", options.limits.max_bytes, " bytes"));
  }
  if (options.sample_timeout <= base::Duration::zero() ||
      options.start_timeout <= base::Duration::zero()) {
    return absl::InvalidArgumentError(
        "a time-out of 0 for a sample or for a worker's start; it must be positive");
  }
  return absl::OkStatus();
}

Supervisor::Supervisor(SupervisorOptions options)
    : options_(std::move(options)), budget_(options_.budget), loose_(kMaxLoose) {}

Supervisor::~Supervisor() {
  // All at once, so that they do not die one after the other.
  for (const auto& worker_slot : worker_slots_)
    if (worker_slot->user_worker && worker_slot->user_worker->worker)
      worker_slot->user_worker->worker->Kill();
  for (const auto& user_worker : asleep_)
    if (user_worker->worker) user_worker->worker->Kill();
}

absl::Status Supervisor::Start() {
  PENSTOCK_CHECK(!epoll_.valid());
  PENSTOCK_RETURN_IF_ERROR(Validate(options_));
  epoll_ = posix::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return base::ErrnoStatus(errno, "making the supervisor's epoll");
  PENSTOCK_ASSIGN_OR_RETURN(wake_, posix::MakeEvent());
  PENSTOCK_RETURN_IF_ERROR(Watch(wake_));
  starting_ = true;
  const absl::Status started = SetCount(options_.count);
  starting_ = false;
  return started;
}

absl::Status Supervisor::SetCount(uint32_t count) {
  if (count > kMaxWorkers) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " workers; at most ", kMaxWorkers, " are possible"));
  }
  for (size_t i = 0; i < worker_slots_.size(); ++i) worker_slots_[i]->retiring = i >= count;
  while (worker_slots_.size() < count) PENSTOCK_RETURN_IF_ERROR(AddWorkerSlot());
  RemoveRetired();
  return absl::OkStatus();
}

absl::Status Supervisor::AddWorkerSlot() {
  auto worker_slot =
      std::make_unique<WorkerSlot>(static_cast<uint32_t>(worker_slots_.size()), options_.back_off);
  const WorkerQueue::Options queue{
      .number = worker_slot->number, .limits = options_.limits, .patience = options_.patience};
  worker_slot->user_worker = std::make_unique<UserWorker>(options_.user, queue, wake_, loose_);
  if (!worker_slot->user_worker->queue->has_reader()) return NoThread();
  PENSTOCK_RETURN_IF_ERROR(StartWorker(*worker_slot->user_worker));
  worker_slots_.push_back(std::move(worker_slot));
  return absl::OkStatus();
}

absl::Status Supervisor::StartWorker(UserWorker& user_worker) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<SupervisorEndpoint> link,
                            SupervisorEndpoint::Make({.arena_bytes = options_.arena_bytes,
                                                      .memory_bytes = options_.memory_bytes,
                                                      .limits = options_.limits}));
  const std::string program = options_.program.empty() ? DefaultProgram() : options_.program;
  PENSTOCK_ASSIGN_OR_RETURN(
      WorkerProcess worker,
      WorkerProcess::Start(
          {.program = program,
           .user = user_worker.user,
           .number = user_worker.number,
           .wait = starting_ ? posix::Child::Wait::kForProgram : posix::Child::Wait::kForNothing},
          link));
  PENSTOCK_RETURN_IF_ERROR(Watch(link->done_event()));
  if (const absl::Status watched = Watch(worker.pidfd()); !watched.ok()) {
    Unwatch(link->done_event());
    return watched;
  }
  link->AnnounceSleep();
  user_worker.verdict = Verdict::kNone;
  user_worker.shown.clear();
  user_worker.started_at.reset();
  user_worker.ready_at.reset();
  user_worker.last_account = 0;
  user_worker.seen_busy_ns = 0;
  user_worker.free_since = base::Now();
  user_worker.worker.emplace(std::move(worker));
  user_worker.queue->Attach(std::move(link));
  return absl::OkStatus();
}

absl::Status Supervisor::Watch(const posix::Fd& fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "watching a worker");
}

void Supervisor::Unwatch(const posix::Fd& fd) {
  PENSTOCK_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd.get(), nullptr) == 0);
}

absl::Status Supervisor::AddSegment(uint32_t segment, uint32_t user, const posix::Fd& memory,
                                    uint64_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd own, memory.Duplicate());
  const auto [place, added] = segments_.try_emplace(segment);
  PENSTOCK_CHECK(added);
  place->second = {.memory = std::move(own), .bytes = bytes, .user = user};
  return absl::OkStatus();
}

// A worker knows the segments that its items name, as they come: however many there are, its socket
// holds few messages. False: it could not be told, and the item is not for it.
bool Supervisor::Show(UserWorker& user_worker, uint32_t id) {
  if (user_worker.shown.contains(id)) return true;
  const SharedSegment& segment = segments_.at(id);
  PENSTOCK_CHECK(segment.user == user_worker.user);  // never another user's memory
  const absl::Status sent = user_worker.worker->UseSegment(id, segment.memory, segment.bytes);
  if (absl::IsAborted(sent)) return false;  // the system's trouble, and none of the worker's
  user_worker.shown.insert(id);
  Condemn(user_worker, sent);
  return true;
}

// Kills a worker that does not read what it is told. One that is gone already is buried as what it
// died of.
void Supervisor::Condemn(UserWorker& user_worker, const absl::Status& sent) {
  if (sent.ok() || absl::IsUnavailable(sent) || user_worker.verdict != Verdict::kNone) return;
  user_worker.verdict = absl::IsAborted(sent) ? Verdict::kNotSent : Verdict::kDoesNotRead;
  user_worker.worker->Kill();
}

void Supervisor::RemoveSegment(uint32_t segment) {
  PENSTOCK_CHECK(segments_.erase(segment) == 1);
  const auto forget = [&](UserWorker* user_worker) {
    if (user_worker == nullptr || user_worker->shown.erase(segment) == 0 || !user_worker->worker)
      return;
    Condemn(*user_worker, user_worker->worker->ForgetSegment(segment));
  };
  for (const auto& worker_slot : worker_slots_) forget(worker_slot->user_worker.get());
  for (const auto& user_worker : asleep_) forget(user_worker.get());
}

std::vector<Outcome> Supervisor::Collect(base::TimePoint now) {
  now_ = now;
  std::vector<Outcome> outcomes = std::exchange(ended_, {});
  posix::Drain(wake_);
  for (const auto& worker_slot : worker_slots_) CollectSlot(*worker_slot, now, outcomes);
  for (const auto& user_worker : asleep_) {
    if (!CollectWorker(*user_worker, now, outcomes)) continue;
    if (posix::IsGone(user_worker->worker->pidfd())) Reap(*user_worker, now, outcomes);
  }
  for (const auto& queue : leaving_) queue->Collect(now, outcomes);
  std::erase_if(leaving_, [](const auto& queue) { return queue->held() == 0; });
  RemoveRetired();
  return outcomes;
}

std::vector<WorkerView> Supervisor::View(base::TimePoint now) const {
  std::vector<WorkerView> views;
  for (const auto& worker_slot : worker_slots_) {
    const UserWorker* user_worker = worker_slot->user_worker.get();
    const bool has_worker = user_worker != nullptr && user_worker->worker;
    WorkerView view{.number = worker_slot->number,
                    .pid = has_worker ? user_worker->worker->pid() : 0,
                    .user = {},
                    .state = WorkerState::kRunning,
                    .decoded = worker_slot->decoded,
                    .restarts = worker_slot->restarts,
                    .utilisation = worker_slot->utilisation.value(),
                    .in_hand = {},
                    .stalled = {},
                    .last_death = worker_slot->last_death};
    if (has_worker && !user_worker->worker->link().ready()) view.state = WorkerState::kStarting;
    if (!has_worker) view.state = WorkerState::kUnused;
    if (!has_worker && (worker_slot->died || now < worker_slot->closed_until))
      view.state = WorkerState::kRestarting;
    if (worker_slot->stopped) view.state = WorkerState::kStopped;
    if (worker_slot->retiring) view.state = WorkerState::kRetiring;
    if (user_worker != nullptr) {
      view.user = user_worker->user;
      if (const auto oldest = user_worker->queue->OldestAtWorker(); oldest && oldest->started)
        view.in_hand = {
            .dataset = oldest->dataset, .sample = oldest->sample, .since = oldest->since};
      if (const auto stall = user_worker->queue->Stalled(now))
        view.stalled = {.dataset = stall->dataset, .since = stall->since, .reason = stall->reason};
    }
    views.push_back(std::move(view));
  }
  return views;
}

uint64_t Supervisor::restarts() const {
  uint64_t restarts = retired_restarts_;
  for (const auto& worker_slot : worker_slots_) restarts += worker_slot->restarts;
  return restarts;
}

uint32_t Supervisor::running() const {
  return static_cast<uint32_t>(
      std::count_if(worker_slots_.begin(), worker_slots_.end(), [this](const auto& worker_slot) {
        if (worker_slot->user_worker && worker_slot->user_worker->worker)
          return worker_slot->user_worker->worker->link().ready();
        return worker_slot->Serves(now_);
      }));
}

double Supervisor::utilisation() const {
  double sum = 0;
  for (const auto& worker_slot : worker_slots_) sum += worker_slot->utilisation.value();
  return worker_slots_.empty() ? 0 : sum / static_cast<double>(worker_slots_.size());
}

}  // namespace penstock::workers
