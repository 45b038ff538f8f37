#include "server/kept/row_keepers.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::kept {
namespace {

// How many rows a thread takes at once: handing one over costs a lock and perhaps a wake-up, about
// as much as copying it.
constexpr size_t kRowsAtOnce = 8;
// Rows that may wait for each thread, so that the newest waits a few milliseconds at most.
constexpr size_t kMostWaiting = 64;
constexpr base::Duration kPatience = std::chrono::seconds(1);

}  // namespace

RowKeepers::~RowKeepers() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status RowKeepers::Start() {
  PENSTOCK_ASSIGN_OR_RETURN(event_, posix::MakeEvent());
  for (uint32_t number = 0; number < count_; ++number) {
    try {
      threads_.emplace_back([this, number] {
        ::pthread_setname_np(::pthread_self(), absl::StrCat(name_, number).c_str());
        Work(number);
      });
    } catch (const std::system_error&) {
      return absl::ResourceExhaustedError("no thread can be started to copy kept rows");
    }
  }
  return absl::OkStatus();
}

bool RowKeepers::MayPut() const {
  const base::MutexLock lock(mutex_);
  return waiting_.size() < kMostWaiting * count_;
}

bool RowKeepers::IsStuck(base::TimePoint now) const {
  const base::MutexLock lock(mutex_);
  return std::ranges::any_of(busy_since_,
                             [&](const auto& busy) { return now - busy.second > kPatience; });
}

void RowKeepers::Submit(std::vector<RowJob>& jobs) {
  if (jobs.empty()) return;
  size_t wakes = 0;
  {
    const base::MutexLock lock(mutex_);
    for (RowJob& job : jobs) waiting_.push_back(std::move(job));
    wakes = std::min<size_t>(idle_, jobs.size());
  }
  jobs.clear();
  for (size_t i = 0; i < wakes; ++i) changed_.NotifyOne();
}

std::vector<RowMoved> RowKeepers::Collect() {
  const base::MutexLock lock(mutex_);
  return std::exchange(moved_, {});
}

void RowKeepers::Work(uint32_t number) {
  std::vector<RowJob> jobs;
  while (Next(number, jobs)) {
    std::vector<RowMoved> moved;
    for (const RowJob& job : jobs) {
      const bool puts = job.move == RowMove::kPut;
      if (puts) job.shelf->Put(job.sample, job.parts);
      moved.push_back({job.id, job.move, puts || job.shelf->Take(job.sample, job.parts)});
    }
    jobs.clear();  // so that shelves are not held while waiting
    {
      const base::MutexLock lock(mutex_);
      moved_.insert(moved_.end(), moved.begin(), moved.end());
    }
    posix::NotifyEvent(event_);
  }
}

// Takes the next rows, fewer if other threads wait for some. Returns false at the end.
bool RowKeepers::Next(uint32_t number, std::vector<RowJob>& jobs) {
  const base::MutexLock lock(mutex_);
  busy_since_.erase(number);
  ++idle_;
  while (waiting_.empty() && !stopping_) changed_.Wait(mutex_);
  --idle_;
  if (stopping_) return false;
  busy_since_[number] = base::Now();
  const size_t count = std::clamp<size_t>(waiting_.size() / (idle_ + 1), 1, kRowsAtOnce);
  for (size_t i = 0; i < count; ++i) {
    jobs.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return true;
}

}  // namespace penstock::kept
