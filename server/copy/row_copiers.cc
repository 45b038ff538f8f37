#include "server/copy/row_copiers.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/source/core/retry_policy.h"

namespace penstock::copy {
namespace {

constexpr size_t kAhead =
    4;  // runs per thread: one in progress, and some more while the runner is busy
constexpr base::Duration kLongCopy = std::chrono::seconds(1);
// Limit for blocked copies and copies with `aside`. Beyond it, blocked copies hold up the pool.
constexpr size_t kMaxLoose = 128;

absl::Status Fill(const RowRun& run) {
  PENSTOCK_RETURN_IF_ERROR(run.dataset->CopyRows(*run.selection, run.samples, run.blocks));
  WriteNotes(run);
  return absl::OkStatus();
}

}  // namespace

void WriteNotes(const RowRun& run) {
  std::memcpy(run.ids, run.samples.data(), run.samples.size() * sizeof(uint64_t));
  run.dataset->CopyLabels(run.samples, run.labels);
}

RowCopiers::RowCopiers(const Options& options) : options_(options), loose_(kMaxLoose) {
  PENSTOCK_CHECK(options.count >= 1);
}

RowCopiers::~RowCopiers() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (auto& [number, each] : threads_) each.thread.join();
}

absl::Status RowCopiers::Start() {
  PENSTOCK_CHECK(threads_.empty());
  PENSTOCK_ASSIGN_OR_RETURN(event_, posix::MakeEvent());
  while (threads_.size() < options_.count) {
    std::optional<posix::LooseThreads::Thread> thread = StartThread(next_thread_);
    if (!thread) return absl::ResourceExhaustedError("no thread can be started for a row copier");
    threads_.emplace(next_thread_++, *std::move(thread));
  }
  return absl::OkStatus();
}

std::optional<posix::LooseThreads::Thread> RowCopiers::StartThread(uint64_t number) {
  {
    const base::MutexLock lock(mutex_);
    serving_.insert(number);
  }
  auto thread = posix::LooseThreads::Start([this, number] {
    ::pthread_setname_np(::pthread_self(), absl::StrCat("copy", number).c_str());
    Work(number);
  });
  if (thread) return thread;
  const base::MutexLock lock(mutex_);
  serving_.erase(number);
  return std::nullopt;
}

size_t RowCopiers::Capacity() const {
  const base::MutexLock lock(mutex_);
  const auto busy = static_cast<size_t>(std::count_if(
      in_hand_.begin(), in_hand_.end(), [](const auto& hand) { return !hand.second.aside; }));
  const size_t most = kAhead * options_.count;
  return most - std::min(most, ready_.size() + busy);
}

void RowCopiers::Submit(RowRun run) {
  if (run.aside && loose_.CanStart()) return SubmitAside(std::move(run));
  {
    const base::MutexLock lock(mutex_);
    ready_.push_back(std::move(run));
  }
  changed_.NotifyOne();
}

void RowCopiers::SubmitAside(RowRun run) {
  const uint64_t id = run.id;
  const auto shared = std::make_shared<const RowRun>(std::move(run));  // shared with the thread
  {
    const base::MutexLock lock(mutex_);
    Begin(*shared, next_thread_);
    in_hand_.at(id).aside = true;
  }
  auto thread = posix::LooseThreads::Start([this, shared, number = next_thread_] {
    ::pthread_setname_np(::pthread_self(), absl::StrCat("copy", number).c_str());
    CopyRun(*shared);
  });
  ++next_thread_;
  if (thread) return loose_.Leave(*std::move(thread));
  const base::MutexLock lock(mutex_);  // then treat it like any other run
  in_hand_.erase(id);
  ready_.push_back(*shared);
  changed_.NotifyOne();
}

std::vector<CopyOutcome> RowCopiers::Collect() {
  const base::MutexLock lock(mutex_);
  return std::exchange(ended_, {});
}

std::vector<uint64_t> RowCopiers::TakeOverdue(base::TimePoint now) {
  loose_.Sweep();
  std::vector<uint64_t> overdue;
  for (const InHand& hand : NewlyOverdue(now))
    if (hand.aside || LeaveBehind(hand)) overdue.push_back(hand.id);
  return overdue;
}

std::vector<RowCopiers::InHand> RowCopiers::NewlyOverdue(base::TimePoint now) {
  std::vector<InHand> overdue;
  const base::MutexLock lock(mutex_);
  for (auto& [id, hand] : in_hand_) {
    if (hand.reported || now - hand.since < source::kPatience) continue;
    hand.reported = hand.aside;  // other runs are reported when they are detached
    overdue.push_back(hand);
  }
  return overdue;
}

// Starts a replacement before detaching the thread, so that the pool keeps its size. False if too
// many threads are detached already, or if the overdue copy has just ended.
bool RowCopiers::LeaveBehind(const InHand& hand) {
  if (!loose_.CanStart()) return false;
  std::optional<posix::LooseThreads::Thread> next = StartThread(next_thread_);
  if (!next) return false;
  threads_.emplace(next_thread_++, *std::move(next));
  loose_.Leave(std::move(threads_.at(hand.thread)));
  threads_.erase(hand.thread);
  bool is_overdue = false;
  {
    const base::MutexLock lock(mutex_);
    serving_.erase(hand.thread);
    for (auto& [id, now] : in_hand_) {
      if (now.thread != hand.thread) continue;
      now.aside = true;
      now.reported = is_overdue = id == hand.id;
    }
  }
  changed_.NotifyAll();
  return is_overdue;
}

std::vector<RowCopiers::StalledCopy> RowCopiers::Stalls(base::TimePoint now) const {
  std::vector<StalledCopy> stalls;
  const base::MutexLock lock(mutex_);
  for (const auto& [id, hand] : in_hand_)
    if (now - hand.since > kLongCopy)
      stalls.push_back(
          {id, hand.since, absl::StrCat("reading '", hand.dataset->path(hand.sample), "'")});
  return stalls;
}

// ---- Run by the threads ----

void RowCopiers::Work(uint64_t number) {
  while (const std::optional<RowRun> run = Next(number)) CopyRun(*run);
}

// Nullopt at shutdown, or if this thread was detached and its copy has ended since.
std::optional<RowRun> RowCopiers::Next(uint64_t number) {
  const base::MutexLock lock(mutex_);
  while (!stopping_ && serving_.contains(number) && ready_.empty()) changed_.Wait(mutex_);
  if (stopping_ || !serving_.contains(number)) return std::nullopt;
  RowRun run = std::move(ready_.front());
  ready_.pop_front();
  Begin(run, number);
  return run;
}

void RowCopiers::Begin(const RowRun& run, uint64_t number) {
  in_hand_[run.id] = {.id = run.id,
                      .since = base::Now(),
                      .dataset = run.dataset,
                      .sample = run.samples.front(),
                      .thread = number};
}

void RowCopiers::CopyRun(const RowRun& run) {
  CopyOutcome outcome = {
      .id = run.id, .status = Fill(run), .given = run.given, .ended = base::Now()};
  {
    const base::MutexLock lock(mutex_);
    outcome.begun = in_hand_.at(run.id).since;
    in_hand_.erase(run.id);
    ended_.push_back(std::move(outcome));
  }
  posix::NotifyEvent(event_);
}

}  // namespace penstock::copy
