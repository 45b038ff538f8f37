#include "server/app/catalog/desks.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::app {

absl::Status Desks::Do(const std::string& desk, uint64_t user, Job job) {
  const base::MutexLock lock(mutex_);
  PENSTOCK_RETURN_IF_ERROR(MayWait(user));
  waiting_.push_back({desk, user, std::move(job)});
  StartWhatMayBe();
  return absl::OkStatus();
}

absl::Status Desks::MayWait(uint64_t user) const {
  if (closed_) return absl::UnavailableError("the daemon is ending");
  const auto own = static_cast<size_t>(
      std::count_if(waiting_.begin(), waiting_.end(),
                    [user](const Waiting& waiting) { return waiting.user == user; }));
  if (own < options_.most_waiting_of_a_user && waiting_.size() < options_.most_waiting)
    return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(own, " jobs are waiting for this user's datasets, and ", waiting_.size(),
                   " in all; their storage may not respond; try again later"));
}

// In order of arrival, except for jobs that wait for their own queue or user. A job that waits for
// its user's limit holds up only that user's later jobs in its queue.
void Desks::StartWhatMayBe() {
  threads_.Sweep();
  using DeskOfUser = std::pair<std::string, uint64_t>;
  std::set<DeskOfUser> passed;  // keeps the order of a user's jobs within a queue
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const DeskOfUser here{next->desk, next->user};
    const bool start = !passed.contains(here) && MayStart(*next) && Start(*next);
    if (!start) passed.insert(here);
    next = start ? waiting_.erase(next) : std::next(next);
  }
}

bool Desks::MayStart(const Waiting& waiting) const {
  if (busy_desks_.size() >= options_.most_threads || busy_desks_.contains(waiting.desk))
    return false;
  const auto own = std::count_if(busy_desks_.begin(), busy_desks_.end(),
                                 [&](const auto& busy) { return busy.second == waiting.user; });
  return static_cast<size_t>(own) < options_.most_of_a_user;
}

bool Desks::Start(const Waiting& waiting) {
  const auto doing = std::make_shared<Waiting>(waiting);  // shared with its thread
  auto thread = posix::LooseThreads::Start([this, doing] {
    ::pthread_setname_np(::pthread_self(), options_.thread_name);
    posix::GiveWay(options_.priority).IgnoreError();
    doing->job();
    doing->job = nullptr;
    Ended(*doing);
  });
  if (!thread) return false;  // retried when another one ends
  busy_desks_.emplace(waiting.desk, waiting.user);
  threads_.Leave(*std::move(thread));
  return true;
}

void Desks::Ended(const Waiting& done) {
  const base::MutexLock lock(mutex_);
  busy_desks_.erase(done.desk);
  if (!closed_) StartWhatMayBe();
}

void Desks::Close() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
}

void Desks::Stop() {
  Close();
  std::list<Waiting> left;
  {
    const base::MutexLock lock(mutex_);
    left.swap(waiting_);
  }
  for (const Waiting& each : left) each.job();
  threads_.JoinAll();  // no thread is started any more
}

bool Desks::busy() const {
  const base::MutexLock lock(mutex_);
  return !busy_desks_.empty() || !waiting_.empty();
}

}  // namespace penstock::app
