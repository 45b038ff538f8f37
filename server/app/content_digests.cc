#include "server/app/content_digests.h"

#include <pthread.h>

#include <algorithm>
#include <optional>

#include "server/source/content_digest.h"

namespace penstock::app {
namespace {

constexpr size_t kMaxAskers = 64;

}  // namespace

ContentDigests::ContentDigests(size_t threads) : threads_(threads) {
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "digest");
    Run();
  });
}

ContentDigests::~ContentDigests() {
  Close();
  thread_.join();
}

void ContentDigests::Close() {
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
}

void ContentDigests::Ask(std::shared_ptr<const source::Dataset> dataset,
                         std::function<bool()> cancelled, Done done) {
  absl::StatusOr<std::string> answer = absl::UnavailableError("the daemon is ending");
  {
    base::MutexLock lock(mutex_);
    size_t askers = 0;
    for (const Job& job : jobs_) askers += job.askers.size();
    if (const std::optional<std::string> known = Known(*dataset)) {
      answer = *known;
    } else if (!stopping_ && askers >= kMaxAskers) {
      answer = absl::ResourceExhaustedError(
          absl::StrCat(kMaxAskers, " wait for digests already; try again in a while"));
    } else if (!stopping_) {
      auto job = std::find_if(jobs_.begin(), jobs_.end(),
                              [&](const Job& each) { return each.dataset == dataset; });
      if (job == jobs_.end())
        job = jobs_.insert(jobs_.end(), Job{.dataset = std::move(dataset), .askers = {}});
      job->askers.push_back({std::move(cancelled), std::move(done)});
      changed_.NotifyAll();
      return;
    }
  }
  done(std::move(answer));
}

// Of a dataset that did not change since.
std::optional<std::string> ContentDigests::Known(const source::Dataset& dataset) {
  std::erase_if(made_, [](const Made& made) { return made.dataset.expired(); });
  for (const Made& made : made_)
    if (made.dataset.lock().get() == &dataset && !dataset.changed()) return made.digest;
  return std::nullopt;
}

// Whether anybody still waits for the one that is being made.
bool ContentDigests::GoOn() {
  base::MutexLock lock(mutex_);
  return !stopping_ && Wanted(jobs_.front());
}

bool ContentDigests::Wanted(const Job& job) {
  return std::any_of(job.askers.begin(), job.askers.end(),
                     [](const Asker& asker) { return !asker.cancelled(); });
}

void ContentDigests::Run() {
  for (;;) {
    std::shared_ptr<const source::Dataset> dataset;
    {
      base::MutexLock lock(mutex_);
      while (jobs_.empty() && !stopping_) changed_.Wait(mutex_);
      if (jobs_.empty()) return;
      dataset = jobs_.front().dataset;
    }
    source::Crew crew;
    crew.threads = threads_;
    crew.watch = [this] { return GoOn(); };
    Finish(GoOn() ? source::ContentDigest(*dataset, crew)
                  : absl::CancelledError("the digest is not wanted any more"));
  }
}

void ContentDigests::Finish(const absl::StatusOr<std::string>& digest) {
  Job job;
  {
    base::MutexLock lock(mutex_);
    // Somebody asked when those who waited had gone, and it was broken off for them: once more.
    if (absl::IsCancelled(digest.status()) && !stopping_ && Wanted(jobs_.front())) return;
    job = std::move(jobs_.front());
    jobs_.pop_front();
    if (digest.ok()) made_.push_back({job.dataset, *digest});
  }
  for (const Asker& asker : job.askers) asker.done(digest);
}

}  // namespace penstock::app
