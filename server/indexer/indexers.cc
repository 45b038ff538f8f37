#include "server/indexer/indexers.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/posix/limits.h"
#include "server/indexer/process_parsers.h"

namespace penstock::indexer {
namespace {

constexpr std::chrono::milliseconds kWakeEvery(100);

std::string ProgramBesideThis() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "penstock-indexer";
}

Indexers::Options Complete(Indexers::Options options) {
  if (options.program.empty()) options.program = ProgramBesideThis();
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
}

std::shared_ptr<source::Parsers> Indexers::NewParsers() {
  uint64_t owner = 0;
  {
    const base::MutexLock lock(mutex_);
    owner = ++owners_;
  }
  return MakeProcessParsers(shared_from_this(), owner);
}

void Indexers::Close() {
  closing_ = true;
  const base::MutexLock lock(mutex_);
  work_.NotifyAll();
  done_.NotifyAll();
}

absl::StatusOr<Indexers::Process> Indexers::Get(uint64_t owner, const source::ScanWatch& watch) {
  auto wanted = std::make_shared<Wanted>();
  const base::MutexLock lock(mutex_);
  if (Process process = TakeIdle(owner)) return process;
  wanted_.push_back(wanted);
  work_.NotifyAll();
  while (!wanted->done) {
    if (closing_ || (watch.cancelled && watch.cancelled())) {
      wanted->abandoned = true;
      return absl::CancelledError("indexing was cancelled");
    }
    done_.WaitFor(mutex_, kWakeEvery);
  }
  return std::move(wanted->started);
}

void Indexers::GiveBack(uint64_t owner, Process process) {
  const bool keep = process->idle() && !closing_;
  if (!keep) process.reset();  // without the lock: it waits for the end of the process
  const base::MutexLock lock(mutex_);
  if (keep) {
    idle_.push_back({.owner = owner, .process = std::move(process), .since = base::Now()});
  } else {
    --processes_;
  }
  work_.NotifyAll();
}

void Indexers::Forget(uint64_t owner) {
  std::vector<Process> ended;
  for (;;) {
    const base::MutexLock lock(mutex_);
    Process process = TakeIdle(owner);
    if (process == nullptr) break;
    ended.push_back(std::move(process));
  }
  const size_t count = ended.size();
  ended.clear();
  const base::MutexLock lock(mutex_);
  processes_ -= count;
  work_.NotifyAll();
}

Indexers::Process Indexers::TakeIdle(uint64_t owner) {
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const Idle& idle) { return idle.owner == owner; });
  if (found == idle_.rend()) return nullptr;
  Process process = std::move(found->process);
  idle_.erase(std::next(found).base());
  return process;
}

// Those that were not used for long; while others wait and there are too many, all.
std::vector<Indexers::Idle> Indexers::TakeOld() {
  const bool full = processes_ >= options_.most && !wanted_.empty();
  const base::TimePoint least = base::Now() - options_.keep;
  const auto old = std::partition(idle_.begin(), idle_.end(), [&](const Idle& idle) {
    return !full && !closing_ && idle.since > least;
  });
  std::vector<Idle> taken(std::make_move_iterator(old), std::make_move_iterator(idle_.end()));
  idle_.erase(old, idle_.end());
  return taken;
}

// The processes have this thread's priority, which is that of all that opens datasets.
void Indexers::Work() {
  (void)posix::GiveWay();
  for (;;) {
    std::vector<Idle> old;
    std::shared_ptr<Wanted> next;
    {
      const base::MutexLock lock(mutex_);
      old = TakeOld();
      const bool room = processes_ < options_.most;
      if (old.empty() && (wanted_.empty() || !room)) {
        if (closing_) return;
        if (idle_.empty() && wanted_.empty()) {
          work_.Wait(mutex_);
        } else {
          work_.WaitFor(mutex_, kWakeEvery);
        }
        continue;
      }
      if (room && !wanted_.empty()) {
        next = std::move(wanted_.front());
        wanted_.pop_front();
        ++processes_;
      }
      processes_ -= old.size();
    }
    old.clear();
    if (next != nullptr) StartNext(std::move(next));
  }
}

// If nobody waits any more, the process ends again.
void Indexers::StartNext(std::shared_ptr<Wanted> wanted) {
  absl::StatusOr<Process> started =
      closing_ ? absl::StatusOr<Process>(absl::CancelledError("the daemon is ending"))
               : IndexerProcess::Start(options_.program, options_.sandboxed);
  const base::MutexLock lock(mutex_);
  if (!started.ok() || wanted->abandoned) --processes_;
  if (wanted->abandoned) return;
  wanted->started = std::move(started);
  wanted->done = true;
  done_.NotifyAll();
}

}  // namespace penstock::indexer
