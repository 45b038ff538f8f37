#include "server/source/files/parallel_for.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/posix/limits.h"

namespace penstock::source {
namespace {

constexpr std::chrono::milliseconds kWatchEvery(100);

// State shared by the threads of one call.
class Shift {
 public:
  Shift(size_t count, size_t threads, const std::function<absl::Status(size_t)>& work)
      : count_(count), work_(work), running_(threads) {}

  void Work() {
    for (size_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1))
      if (absl::Status status = work_(i); !status.ok()) Stop(std::move(status));
    Leave(1);
  }

  // So many threads do not work, or no longer.
  void Leave(size_t threads) {
    base::MutexLock lock(mutex_);
    running_ -= threads;
    if (running_ == 0) done_.NotifyAll();
  }

  void Stop(absl::Status why) {
    next_.store(count_);  // a few threads may still increment it; far from overflow
    base::MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(why);
  }

  // Waits up to kWatchEvery; returns whether all threads are done.
  bool WaitDone() {
    base::MutexLock lock(mutex_);
    if (running_ > 0) done_.WaitFor(mutex_, kWatchEvery);
    return running_ == 0;
  }

  absl::Status status() {
    base::MutexLock lock(mutex_);
    return status_;
  }

 private:
  const size_t count_;
  const std::function<absl::Status(size_t)>& work_;
  std::atomic<size_t> next_{0};
  base::Mutex mutex_;
  base::CondVar done_;
  size_t running_ PENSTOCK_GUARDED_BY(mutex_);
  absl::Status status_ PENSTOCK_GUARDED_BY(mutex_);
};

// Nullopt if the system allows no more threads.
std::optional<std::thread> StartThread(Shift& shift) {
  try {
    std::thread thread([&shift] {
      posix::GiveWay().IgnoreError();
      shift.Work();
    });
    ::pthread_setname_np(thread.native_handle(), "penstock-index");
    return thread;
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

}  // namespace

absl::Status ParallelFor::ForEach(size_t count,
                                  const std::function<absl::Status(size_t)>& work) const {
  const size_t hands = std::clamp<size_t>(threads, 1, std::max<size_t>(count, 1));
  Shift shift(count, hands, work);
  std::vector<std::thread> parallel_for;
  while (parallel_for.size() < hands) {
    std::optional<std::thread> thread = StartThread(shift);
    if (!thread) break;
    parallel_for.push_back(*std::move(thread));
  }
  if (parallel_for.empty())
    return absl::ResourceExhaustedError(
        "no thread could be started to index files; raise the limit on threads (ulimit -u, "
        "TasksMax)");
  shift.Leave(hands - parallel_for.size());
  while (!shift.WaitDone())
    if (watch && !watch()) shift.Stop(absl::CancelledError("indexing was cancelled"));
  for (std::thread& thread : parallel_for) thread.join();
  return shift.status();
}

}  // namespace penstock::source
