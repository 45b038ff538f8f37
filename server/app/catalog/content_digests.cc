#include "server/app/catalog/content_digests.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "server/source/core/content_digest.h"

namespace penstock::app {
namespace {

absl::Status Ending() { return absl::UnavailableError("the daemon is ending"); }

}  // namespace

ContentDigests::ContentDigests(const Options& options) : options_(options), desks_(options.desks) {}

ContentDigests::~ContentDigests() {
  Close();
  desks_.Stop();
}

void ContentDigests::Close() {
  const base::MutexLock lock(mutex_);
  stopping_ = true;
}

absl::Status ContentDigests::MayWait(uint64_t user) const {
  if (stopping_) return Ending();
  size_t all = 0, own = 0;
  for (const SharedJob& job : jobs_) {
    all += job->askers.size();
    own += static_cast<size_t>(
        std::count_if(job->askers.begin(), job->askers.end(),
                      [user](const Asker& asker) { return asker.user == user; }));
  }
  if (own < options_.most_askers_of_a_user && all < options_.most_askers) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(own, " of this user are waiting for digests, ",
                                                   all, " in all; try again later"));
}

void ContentDigests::Ask(std::shared_ptr<const source::Dataset> dataset, uint64_t user,
                         std::function<bool()> cancelled, const Done& done) {
  std::optional<absl::StatusOr<std::string>> answer;
  SharedJob job;
  bool is_queued = false;
  {
    const base::MutexLock lock(mutex_);
    if (const std::optional<std::string> known = Known(*dataset)) {
      answer = *known;
    } else if (const absl::Status may = MayWait(user); !may.ok()) {
      answer = may;
    } else {
      job = JobFor(std::move(dataset));
      is_queued = job->has_begun || WaitsAt(*job, user);
      job->askers.push_back({user, std::move(cancelled), done});
    }
  }
  if (answer) return done(*std::move(answer));
  if (!is_queued) Queue(job, user);
}

ContentDigests::SharedJob ContentDigests::JobFor(std::shared_ptr<const source::Dataset> dataset) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const SharedJob& each) { return each->dataset == dataset; });
  if (found != jobs_.end()) return *found;
  return jobs_.emplace_back(std::make_shared<Job>(Job{.dataset = std::move(dataset)}));
}

bool ContentDigests::WaitsAt(const Job& job, uint64_t user) {
  return std::any_of(job.askers.begin(), job.askers.end(),
                     [user](const Asker& asker) { return asker.user == user; });
}

// Others may have queued it before, but it may wait for their limit.
void ContentDigests::Queue(const SharedJob& job, uint64_t user) {
  const std::string desk = absl::StrFormat("%p", job->dataset.get());
  const auto run = [this, weak = std::weak_ptr<Job>(job)] {
    if (const SharedJob still = weak.lock(); still != nullptr && Begin(*still)) Run(still);
  };
  if (const absl::Status taken = desks_.Do(desk, user, run); !taken.ok()) Refuse(job, user, taken);
}

// Answers the user's requests, unless the job was started for another user meanwhile.
void ContentDigests::Refuse(const SharedJob& job, uint64_t user, const absl::Status& error) {
  std::vector<Asker> refused;
  {
    const base::MutexLock lock(mutex_);
    if (job->has_begun) return;
    const auto own =
        std::stable_partition(job->askers.begin(), job->askers.end(),
                              [user](const Asker& asker) { return asker.user != user; });
    std::move(own, job->askers.end(), std::back_inserter(refused));
    job->askers.erase(own, job->askers.end());
    if (job->askers.empty()) jobs_.remove(job);
  }
  for (const Asker& asker : refused) asker.done(error);
}

// False: it was started for another user.
bool ContentDigests::Begin(Job& job) {
  const base::MutexLock lock(mutex_);
  return !std::exchange(job.has_begun, true);
}

// For a dataset that has not changed since.
std::optional<std::string> ContentDigests::Known(const source::Dataset& dataset) {
  std::erase_if(made_, [](const Made& made) { return made.dataset.expired(); });
  for (const Made& made : made_)
    if (made.dataset.lock().get() == &dataset && !dataset.changed()) return made.digest;
  return std::nullopt;
}

// Whether anyone still waits for it.
bool ContentDigests::GoOn(const Job& job) {
  const base::MutexLock lock(mutex_);
  return !stopping_ && Wanted(job);
}

bool ContentDigests::Wanted(const Job& job) {
  return std::any_of(job.askers.begin(), job.askers.end(),
                     [](const Asker& asker) { return !asker.cancelled(); });
}

void ContentDigests::Run(const SharedJob& job) {
  source::ParallelFor parallel_for;
  parallel_for.threads = options_.threads;
  parallel_for.watch = [this, &job] { return GoOn(*job); };
  const std::shared_ptr<const source::Dataset> dataset = job->dataset;  // constant during the job
  while (!Finish(job, GoOn(*job) ? source::ContentDigest(*dataset, parallel_for)
                                 : absl::CancelledError("nobody waits for the digest any more"))) {
  }
}

// False: all those who waited had left, so it was cancelled, but another request came. Run it
// again.
bool ContentDigests::Finish(const SharedJob& job, const absl::StatusOr<std::string>& digest) {
  std::vector<Asker> askers;
  {
    const base::MutexLock lock(mutex_);
    if (absl::IsCancelled(digest.status()) && !stopping_ && Wanted(*job)) return false;
    if (digest.ok()) made_.push_back({job->dataset, *digest});
    askers = std::move(job->askers);
    jobs_.remove(job);
  }
  for (const Asker& asker : askers) asker.done(digest);
  return true;
}

}  // namespace penstock::app
