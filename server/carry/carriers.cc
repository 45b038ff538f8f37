#include "server/carry/carriers.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/source/retry_policy.h"

namespace penstock::carry {
namespace {

constexpr size_t kAhead =
    4;  // runs a thread: the one in its hands, and some while the runner is busy
constexpr base::Duration kLongCopy = std::chrono::seconds(1);
constexpr base::Duration kLongestSleep = std::chrono::hours(1);

std::string GaveUpAfter(base::Duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return absl::StrCat("samples could not be read for ", seconds, " s, see to their storage");
}

absl::Status Fill(const Run& run) {
  PENSTOCK_RETURN_IF_ERROR(run.dataset->CopyRows(*run.selection, run.samples, run.blocks));
  WriteNotes(run);
  return absl::OkStatus();
}

}  // namespace

void WriteNotes(const Run& run) {
  std::memcpy(run.ids, run.samples.data(), run.samples.size() * sizeof(uint64_t));
  run.dataset->CopyLabels(run.samples, run.labels);
}

Carriers::Carriers(const Options& options) : options_(options), in_hand_(options.count) {
  PENSTOCK_CHECK(options.count >= 1);
}

Carriers::~Carriers() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status Carriers::Start() {
  PENSTOCK_CHECK(threads_.empty());
  PENSTOCK_ASSIGN_OR_RETURN(event_, posix::MakeEvent());
  for (uint32_t number = 0; number < options_.count; ++number)
    threads_.emplace_back([this, number] {
      ::pthread_setname_np(::pthread_self(), absl::StrCat("carry", number).c_str());
      Work(number);
    });
  return absl::OkStatus();
}

size_t Carriers::Capacity() const {
  const base::MutexLock lock(mutex_);
  const auto busy = static_cast<size_t>(std::count_if(
      in_hand_.begin(), in_hand_.end(), [](const auto& hand) { return hand.has_value(); }));
  const size_t most = kAhead * options_.count;
  return most - std::min(most, ready_.size() + busy);
}

void Carriers::Submit(Run run) {
  {
    const base::MutexLock lock(mutex_);
    ready_.push_back({.run = std::move(run), .reason = {}});
  }
  changed_.NotifyOne();
}

std::vector<Outcome> Carriers::Collect() {
  const base::MutexLock lock(mutex_);
  return std::exchange(ended_, {});
}

std::vector<Carriers::Stall> Carriers::Stalls(base::TimePoint now) const {
  std::vector<Stall> stalls;
  const base::MutexLock lock(mutex_);
  for (const Job& job : aside_) stalls.push_back({job.run.id, job.failing_since, job.reason});
  for (const auto& hand : in_hand_)
    if (hand && now - hand->since > kLongCopy)
      stalls.push_back({hand->id, hand->since, absl::StrCat("reading '", hand->path, "'")});
  return stalls;
}

// ---- The threads. ----

void Carriers::Work(uint32_t number) {
  while (std::optional<Job> job = Next(number)) {
    const absl::Status copied = Fill(job->run);
    PutDown(*std::move(job), number, copied);
  }
}

// Runs that are due again come first: they are of earlier batches.
std::optional<Carriers::Job> Carriers::Next(uint32_t number) {
  const base::MutexLock lock(mutex_);
  for (;;) {
    if (stopping_) return std::nullopt;
    const base::TimePoint now = base::Now();
    if (TakeDue(now) || !ready_.empty()) {
      Job job = std::move(ready_.front());
      ready_.pop_front();
      in_hand_[number] = {job.run.id, now, job.run.dataset->path(job.run.samples[0])};
      return job;
    }
    base::Duration sleep = kLongestSleep;
    for (const Job& job : aside_) sleep = std::min(sleep, job.again - now);
    changed_.WaitFor(mutex_, sleep);
  }
}

bool Carriers::TakeDue(base::TimePoint now) {
  const auto due =
      std::find_if(aside_.begin(), aside_.end(), [&](const Job& job) { return job.again <= now; });
  if (due == aside_.end()) return false;
  ready_.push_front(std::move(*due));
  aside_.erase(due);
  return true;
}

// It ended, or is put aside until it is tried again.
void Carriers::PutDown(Job job, uint32_t number, const absl::Status& copied) {
  Outcome outcome = {
      .id = job.run.id, .status = copied, .given = job.run.given, .ended = base::Now()};
  std::optional<base::Duration> wait;
  if (!copied.ok() && !absl::IsDataLoss(copied)) {  // what is stored wrong stays so
    const base::TimePoint now = outcome.ended;
    if (job.failures++ == 0) job.failing_since = now;
    wait = source::RetryPolicy{.total = options_.retry_for}.WaitAfter(job.failures,
                                                                      now - job.failing_since);
    if (wait) job.again = now + *wait;
    job.reason = std::string(copied.message());
    if (!wait) outcome.status = base::Annotate(copied, GaveUpAfter(options_.retry_for));
  }
  {
    const base::MutexLock lock(mutex_);
    outcome.begun = job.failures > 0 ? job.failing_since : in_hand_[number]->since;
    in_hand_[number].reset();
    if (wait) {
      aside_.push_back(std::move(job));
    } else {
      ended_.push_back(std::move(outcome));
    }
  }
  if (!wait) posix::Ring(event_);
}

}  // namespace penstock::carry
