#include "server/indexer/indexers.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/posix/failpoint.h"
#include "common/posix/limits.h"
#include "common/telemetry/log.h"
#include "server/indexer/process_parsers.h"

namespace penstock::indexer {
namespace {

constexpr std::chrono::milliseconds kWakeEvery(100);
constexpr std::chrono::milliseconds kDiesWithin(500);  // unless its storage does not answer
constexpr size_t kMostDying = 64;

Indexers::Options Complete(Indexers::Options options) {
  if (options.program.empty()) options.program = DefaultProgram();
  return options;
}

}  // namespace

Indexers::Indexers(Options options) : options_(Complete(std::move(options))) {
  thread_ = std::thread([this] { Work(); });
  ::pthread_setname_np(thread_.native_handle(), "indexers");
}

Indexers::~Indexers() {
  Close();
  thread_.join();
  const base::MutexLock lock(mutex_);
  for (Idle& each : dying_) each.process->Abandon();
}

std::shared_ptr<source::Parsers> Indexers::NewParsers(std::function<bool()> cancelled) {
  uint64_t owner = 0;
  {
    const base::MutexLock lock(mutex_);
    owner = ++owners_;
  }
  return MakeProcessParsers(shared_from_this(), owner, std::move(cancelled));
}

void Indexers::Close() {
  closing_ = true;
  const base::MutexLock lock(mutex_);
  work_.NotifyAll();
  for (Wanted* wanted : wanted_) wanted->ready.NotifyAll();
}

// ---- Calls ----

absl::StatusOr<Indexers::Process> Indexers::Get(uint64_t owner, const source::ScanWatch& watch) {
  Wanted wanted = {.owner = owner, .since = base::Now()};
  const base::MutexLock lock(mutex_);
  if (Process process = TakeIdle(owner)) return process;
  wanted_.push_back(&wanted);
  work_.NotifyAll();
  while (!wanted.got) {
    if (closing_ || (watch.cancelled && watch.cancelled())) {
      wanted_.remove(&wanted);
      return absl::CancelledError("indexing was cancelled");
    }
    wanted.ready.WaitFor(mutex_, kWakeEvery);
  }
  return *std::move(wanted.got);
}

void Indexers::GiveBack(uint64_t owner, Process process) {
  if (!process->idle() || closing_) return End(owner, std::move(process));
  const base::MutexLock lock(mutex_);
  HandOverOrKeep(owner, std::move(process));
}

// Without the lock, because it waits for the end of the process.
void Indexers::End(uint64_t owner, Process process) {
  process->NoteIdleEnd();
  if (process->made_forbidden_call()) ++forbidden_calls_;
  if (!process->Kill(kDiesWithin) && Leave(owner, process)) return;
  process.reset();
  const base::MutexLock lock(mutex_);
  Ended(owner);
}

// Leaves a process that cannot die now to the thread. False: there are too many.
bool Indexers::Leave(uint64_t owner, Process& process) {
  const base::MutexLock lock(mutex_);
  if (dying_.size() >= kMostDying && !closing_) return false;
  PENSTOCK_LOG(kWarning, "indexer_does_not_end", {"indexer", process->pid()},
               {"reason", "its storage does not answer; it ends when the storage does"});
  dying_.push_back({.owner = owner, .process = std::move(process), .since = base::Now()});
  work_.NotifyAll();
  return true;
}

void Indexers::Forget(uint64_t owner) {
  std::vector<Process> ended;
  {
    const base::MutexLock lock(mutex_);
    while (Process process = TakeIdle(owner)) ended.push_back(std::move(process));
    if (const auto group = groups_.find(owner); group != groups_.end())
      group->second.forgotten = true;
  }
  for (Process& each : ended) End(owner, std::move(each));
}

// Gives it to the owner's first call that waits. False: none does.
bool Indexers::HandOver(uint64_t owner, absl::StatusOr<Process>& process) {
  const auto first = std::find_if(wanted_.begin(), wanted_.end(),
                                  [&](const Wanted* each) { return each->owner == owner; });
  if (first == wanted_.end()) return false;
  (*first)->got.emplace(std::move(process));
  (*first)->ready.NotifyAll();
  wanted_.erase(first);
  return true;
}

void Indexers::HandOverOrKeep(uint64_t owner, Process process) {
  absl::StatusOr<Process> idle = std::move(process);
  if (HandOver(owner, idle)) return;
  const base::TimePoint since = groups_[owner].forgotten ? base::TimePoint() : base::Now();
  idle_.push_back({.owner = owner, .process = *std::move(idle), .since = since});
  work_.NotifyAll();
}

void Indexers::Ended(uint64_t owner) {
  --processes_;
  if (--groups_[owner].processes == 0) groups_.erase(owner);
  work_.NotifyAll();
}

Indexers::Process Indexers::TakeIdle(uint64_t owner) {
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) {
    return idle.owner == owner && !idle.process->IsGone();
  });
  if (found == idle_.rend()) return nullptr;
  Process process = std::move(found->process);
  idle_.erase(std::next(found).base());
  return process;
}

// ---- The thread ----

// Those that died or were not used for long; while others wait and there are too many, all.
std::vector<Indexers::Idle> Indexers::TakeOld() {
  const bool full = processes_ >= options_.most && !wanted_.empty();
  const base::TimePoint least = base::Now() - options_.keep;
  const auto old = std::partition(idle_.begin(), idle_.end(), [&](const Idle& idle) {
    return !full && !closing_ && idle.since > least && !idle.process->IsGone();
  });
  std::vector<Idle> taken(std::make_move_iterator(old), std::make_move_iterator(idle_.end()));
  idle_.erase(old, idle_.end());
  return taken;
}

// When its owner gets another process, if it still waits then.
base::TimePoint Indexers::WhenToGrow(const Wanted& wanted) const {
  const auto found = groups_.find(wanted.owner);
  if (found == groups_.end()) return wanted.since;
  const Group& group = found->second;
  return std::max(wanted.since, group.grown) +
         (group.processes < options_.cores ? options_.grow_after : options_.grow_beyond_after);
}

std::optional<uint64_t> Indexers::NextToGrow() const {
  if (processes_ >= options_.most || closing_) return std::nullopt;
  const base::TimePoint now = base::Now();
  for (const Wanted* each : wanted_)
    if (WhenToGrow(*each) <= now) return each->owner;
  return std::nullopt;
}

void Indexers::Grow(uint64_t owner) {
  ++processes_;
  Group& group = groups_[owner];
  ++group.processes;
  group.grown = base::Now();
}

void Indexers::WaitForWork() {
  if (wanted_.empty() && idle_.empty() && dying_.empty()) return work_.Wait(mutex_);
  base::TimePoint until = base::Now() + kWakeEvery;
  if (processes_ < options_.most)
    for (const Wanted* each : wanted_) until = std::min(until, WhenToGrow(*each));
  work_.WaitFor(mutex_, until - base::Now());
}

// The processes have this thread's priority, which is that of all that opens datasets.
void Indexers::Work() {
  (void)posix::GiveWay();
  for (;;) {
    std::vector<Idle> old;
    std::optional<uint64_t> next;
    EndThoseThatAreGone();
    {
      const base::MutexLock lock(mutex_);
      old = TakeOld();
      next = NextToGrow();
      if (old.empty() && !next) {
        if (closing_) return;
        WaitForWork();
        continue;
      }
      if (next) Grow(*next);
    }
    for (Idle& each : old) End(each.owner, std::move(each.process));
    if (next) StartFor(*next);
  }
}

void Indexers::EndThoseThatAreGone() {
  const base::MutexLock lock(mutex_);
  const auto gone = std::partition(dying_.begin(), dying_.end(),
                                   [](const Idle& each) { return !each.process->IsGone(); });
  for (auto each = gone; each != dying_.end(); ++each) Ended(each->owner);
  dying_.erase(gone, dying_.end());
}

// If nobody waits any more, the process is kept for the owner's next call. An owner that has others
// does without this one if it cannot be started.
void Indexers::StartFor(uint64_t owner) {
  auto started = IndexerProcess::Start(options_.program, options_.sandboxed, options_.patience);
  PENSTOCK_FAILPOINT("indexer.started");
  const base::MutexLock lock(mutex_);
  if (started.ok()) return HandOverOrKeep(owner, *std::move(started));
  if (groups_[owner].processes == 1) (void)HandOver(owner, started);
  Ended(owner);
}

}  // namespace penstock::indexer
