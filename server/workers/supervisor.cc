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
// Reads that do not come back, and such as are made aside. Beyond them lanes are held up.
constexpr size_t kMaxLoose = 128;

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
  for (const auto& post : posts_) {
    if (post->worker) post->worker->Kill();
  }
}

absl::Status Supervisor::Start() {
  PENSTOCK_CHECK(!epoll_.valid());
  PENSTOCK_RETURN_IF_ERROR(Validate(options_));
  epoll_ = posix::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return base::ErrnoStatus(errno, "making the supervisor's epoll");
  PENSTOCK_ASSIGN_OR_RETURN(wake_, posix::MakeEvent());
  Watch(wake_);
  return SetCount(options_.count);
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
  const Lane::Options lane{.number = static_cast<uint32_t>(posts_.size()),
                           .limits = options_.limits};
  auto post = std::make_unique<Post>(lane, wake_, loose_, options_.back_off);
  PENSTOCK_RETURN_IF_ERROR(StartWorker(*post));
  posts_.push_back(std::move(post));
  return absl::OkStatus();
}

absl::Status Supervisor::StartWorker(Post& post) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Link> link,
                            Link::Make({.arena_bytes = options_.arena_bytes,
                                        .memory_bytes = options_.memory_bytes,
                                        .limits = options_.limits}));
  const std::string program = options_.program.empty() ? DefaultProgram() : options_.program;
  PENSTOCK_ASSIGN_OR_RETURN(
      WorkerProcess worker,
      WorkerProcess::Start({.program = program, .user = options_.user, .number = post.number},
                           link));
  Watch(link->done_event());
  Watch(worker.pidfd());
  link->AnnounceSleep();
  post.verdict = Verdict::kNone;
  post.shown.clear();
  post.started_at.reset();
  post.ready_at.reset();
  post.worker.emplace(std::move(worker));
  post.lane->Attach(std::move(link));
  return absl::OkStatus();
}

void Supervisor::Watch(const posix::Fd& fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd.get()}};
  PENSTOCK_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0);
}

void Supervisor::Unwatch(const posix::Fd& fd) {
  PENSTOCK_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd.get(), nullptr) == 0);
}

absl::Status Supervisor::AddSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd own, memory.Duplicate());
  const auto [place, added] = segments_.try_emplace(segment);
  PENSTOCK_CHECK(added);
  place->second = {.memory = std::move(own), .bytes = bytes};
  return absl::OkStatus();
}

// A worker knows the segments that its items name, as they come: however many there are, its socket
// holds few messages.
void Supervisor::Show(Post& post, uint32_t id) {
  if (!post.shown.insert(id).second) return;
  const SharedSegment& segment = segments_.at(id);
  Told(post, post.worker->UseSegment(id, segment.memory, segment.bytes));
}

// Kills a worker that does not read what it is told. One that is gone already is buried as what it
// died of.
void Supervisor::Told(Post& post, const absl::Status& told) {
  if (told.ok() || absl::IsUnavailable(told) || post.verdict != Verdict::kNone) return;
  post.verdict = Verdict::kDoesNotRead;
  post.worker->Kill();
}

void Supervisor::RemoveSegment(uint32_t segment) {
  PENSTOCK_CHECK(segments_.erase(segment) == 1);
  for (const auto& post : posts_) {
    if (post->shown.erase(segment) == 0 || !post->worker) continue;
    Told(*post, post->worker->ForgetSegment(segment));
  }
}

size_t Supervisor::Capacity() const {
  const size_t each = options_.read_ahead + 1;
  size_t free = 0;
  for (const auto& post : posts_) {
    if (post->Accepts() && post->lane->outstanding() < each)
      free += each - post->lane->outstanding();
  }
  return free;
}

void Supervisor::Submit(const WorkItem& item) {
  Post* idlest = nullptr;
  for (const auto& post : posts_) {
    if (!post->Accepts()) continue;
    if (!idlest || post->lane->outstanding() < idlest->lane->outstanding()) idlest = post.get();
  }
  PENSTOCK_CHECK(idlest != nullptr && idlest->lane->outstanding() <= options_.read_ahead);
  PENSTOCK_CHECK(segments_.contains(item.segment));
  Show(*idlest, item.segment);
  if (item.aside && idlest->lane->GiveAside(item)) return;
  idlest->lane->Give(item);
}

std::vector<Outcome> Supervisor::Collect(base::TimePoint now) {
  std::vector<Outcome> outcomes = std::exchange(ended_, {});
  posix::Drain(wake_);
  for (const auto& post : posts_) CollectPost(*post, now, outcomes);
  for (const auto& lane : leaving_) lane->Collect(now, outcomes);
  std::erase_if(leaving_, [](const auto& lane) { return lane->held() == 0; });
  RemoveRetired();
  return outcomes;
}

std::vector<WorkerView> Supervisor::View(base::TimePoint now) const {
  std::vector<WorkerView> views;
  for (const auto& post : posts_) {
    WorkerView view{.number = post->number,
                    .pid = post->worker ? post->worker->pid() : 0,
                    .state = WorkerState::kRunning,
                    .decoded = post->decoded,
                    .restarts = post->restarts,
                    .utilisation = post->utilisation.value(),
                    .in_hand = {},
                    .stalled = {},
                    .last_death = post->last_death};
    if (post->worker && !post->worker->link().ready()) view.state = WorkerState::kStarting;
    if (!post->worker) view.state = WorkerState::kRestarting;
    if (post->stopped) view.state = WorkerState::kStopped;
    if (post->retiring) view.state = WorkerState::kRetiring;
    if (const auto oldest = post->lane->OldestAtWorker(); oldest && oldest->started) {
      view.in_hand = {.dataset = oldest->dataset, .sample = oldest->sample, .since = oldest->since};
    }
    if (const auto stall = post->lane->Stalled(now)) {
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
  return static_cast<uint32_t>(std::count_if(posts_.begin(), posts_.end(), [](const auto& post) {
    return post->worker && post->worker->link().ready();
  }));
}

double Supervisor::utilisation() const {
  double sum = 0;
  for (const auto& post : posts_) sum += post->utilisation.value();
  return posts_.empty() ? 0 : sum / static_cast<double>(posts_.size());
}

// A read that does not come back keeps its lane, and no worker.
void Supervisor::RemoveRetired() {
  // From the back only: a lane's number is its place.
  while (!posts_.empty() && posts_.back()->retiring && posts_.back()->lane->outstanding() == 0) {
    if (posts_.back()->worker) {
      Unwatch(posts_.back()->worker->link().done_event());
      Unwatch(posts_.back()->worker->pidfd());
    }
    retired_restarts_ += posts_.back()->restarts;
    const std::unique_ptr<Post> retired = std::move(posts_.back());
    posts_.pop_back();
    if (retired->lane->held() == 0) continue;
    if (std::exchange(retired->worker, std::nullopt)) retired->lane->Detach({}, ended_);
    leaving_.push_back(std::move(retired->lane));
  }
}

}  // namespace penstock::workers
