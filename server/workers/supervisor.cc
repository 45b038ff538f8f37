#include "server/workers/supervisor.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "server/workers/post.h"

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
  for (const auto& post : posts_)
    if (post->crew && post->crew->worker) post->crew->worker->Kill();
  for (const auto& crew : asleep_)
    if (crew->worker) crew->worker->Kill();
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
  for (size_t i = 0; i < posts_.size(); ++i) posts_[i]->retiring = i >= count;
  while (posts_.size() < count) PENSTOCK_RETURN_IF_ERROR(AddPost());
  RemoveRetired();
  return absl::OkStatus();
}

absl::Status Supervisor::AddPost() {
  auto post = std::make_unique<Post>(static_cast<uint32_t>(posts_.size()), options_.back_off);
  const Lane::Options lane{
      .number = post->number, .limits = options_.limits, .patience = options_.patience};
  post->crew = std::make_unique<Crew>(options_.user, lane, wake_, loose_);
  if (!post->crew->lane->has_reader()) return NoThread();
  PENSTOCK_RETURN_IF_ERROR(StartWorker(*post->crew));
  posts_.push_back(std::move(post));
  return absl::OkStatus();
}

absl::Status Supervisor::StartWorker(Crew& crew) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Link> link,
                            Link::Make({.arena_bytes = options_.arena_bytes,
                                        .memory_bytes = options_.memory_bytes,
                                        .limits = options_.limits}));
  const std::string program = options_.program.empty() ? DefaultProgram() : options_.program;
  PENSTOCK_ASSIGN_OR_RETURN(
      WorkerProcess worker,
      WorkerProcess::Start(
          {.program = program,
           .user = crew.user,
           .number = crew.number,
           .wait = starting_ ? posix::Child::Wait::kForProgram : posix::Child::Wait::kForNothing},
          link));
  PENSTOCK_RETURN_IF_ERROR(Watch(link->done_event()));
  if (const absl::Status watched = Watch(worker.pidfd()); !watched.ok()) {
    Unwatch(link->done_event());
    return watched;
  }
  link->AnnounceSleep();
  crew.verdict = Verdict::kNone;
  crew.shown.clear();
  crew.started_at.reset();
  crew.ready_at.reset();
  crew.last_account = 0;
  crew.seen_busy_ns = 0;
  crew.free_since = base::Now();
  crew.worker.emplace(std::move(worker));
  crew.lane->Attach(std::move(link));
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
bool Supervisor::Show(Crew& crew, uint32_t id) {
  if (crew.shown.contains(id)) return true;
  const SharedSegment& segment = segments_.at(id);
  PENSTOCK_CHECK(segment.user == crew.user);  // never another user's memory
  const absl::Status told = crew.worker->UseSegment(id, segment.memory, segment.bytes);
  if (absl::IsAborted(told)) return false;  // the system's trouble, and none of the worker's
  crew.shown.insert(id);
  Condemn(crew, told);
  return true;
}

// Kills a worker that does not read what it is told. One that is gone already is buried as what it
// died of.
void Supervisor::Condemn(Crew& crew, const absl::Status& told) {
  if (told.ok() || absl::IsUnavailable(told) || crew.verdict != Verdict::kNone) return;
  crew.verdict = absl::IsAborted(told) ? Verdict::kNotTold : Verdict::kDoesNotRead;
  crew.worker->Kill();
}

void Supervisor::RemoveSegment(uint32_t segment) {
  PENSTOCK_CHECK(segments_.erase(segment) == 1);
  const auto forget = [&](Crew* crew) {
    if (crew == nullptr || crew->shown.erase(segment) == 0 || !crew->worker) return;
    Condemn(*crew, crew->worker->ForgetSegment(segment));
  };
  for (const auto& post : posts_) forget(post->crew.get());
  for (const auto& crew : asleep_) forget(crew.get());
}

std::vector<Outcome> Supervisor::Collect(base::TimePoint now) {
  now_ = now;
  std::vector<Outcome> outcomes = std::exchange(ended_, {});
  posix::Drain(wake_);
  for (const auto& post : posts_) CollectPost(*post, now, outcomes);
  for (const auto& crew : asleep_) {
    if (!CollectCrew(*crew, now, outcomes)) continue;
    if (posix::IsGone(crew->worker->pidfd())) Bury(*crew, now, outcomes);
  }
  for (const auto& lane : leaving_) lane->Collect(now, outcomes);
  std::erase_if(leaving_, [](const auto& lane) { return lane->held() == 0; });
  RemoveRetired();
  return outcomes;
}

std::vector<WorkerView> Supervisor::View(base::TimePoint now) const {
  std::vector<WorkerView> views;
  for (const auto& post : posts_) {
    const Crew* crew = post->crew.get();
    const bool has_worker = crew != nullptr && crew->worker;
    WorkerView view{.number = post->number,
                    .pid = has_worker ? crew->worker->pid() : 0,
                    .user = {},
                    .state = WorkerState::kRunning,
                    .decoded = post->decoded,
                    .restarts = post->restarts,
                    .utilisation = post->utilisation.value(),
                    .in_hand = {},
                    .stalled = {},
                    .last_death = post->last_death};
    if (has_worker && !crew->worker->link().ready()) view.state = WorkerState::kStarting;
    if (!has_worker) view.state = WorkerState::kUnused;
    if (!has_worker && (post->died || now < post->closed_until))
      view.state = WorkerState::kRestarting;
    if (post->stopped) view.state = WorkerState::kStopped;
    if (post->retiring) view.state = WorkerState::kRetiring;
    if (crew != nullptr) {
      view.user = crew->user;
      if (const auto oldest = crew->lane->OldestAtWorker(); oldest && oldest->started)
        view.in_hand = {
            .dataset = oldest->dataset, .sample = oldest->sample, .since = oldest->since};
      if (const auto stall = crew->lane->Stalled(now))
        view.stalled = {.dataset = stall->dataset, .since = stall->since, .reason = stall->reason};
    }
    views.push_back(std::move(view));
  }
  return views;
}

uint64_t Supervisor::restarts() const {
  uint64_t restarts = retired_restarts_;
  for (const auto& post : posts_) restarts += post->restarts;
  return restarts;
}

uint32_t Supervisor::running() const {
  return static_cast<uint32_t>(
      std::count_if(posts_.begin(), posts_.end(), [this](const auto& post) {
        if (post->crew && post->crew->worker) return post->crew->worker->link().ready();
        return post->Serves(now_);
      }));
}

double Supervisor::utilisation() const {
  double sum = 0;
  for (const auto& post : posts_) sum += post->utilisation.value();
  return posts_.empty() ? 0 : sum / static_cast<double>(posts_.size());
}

}  // namespace penstock::workers
