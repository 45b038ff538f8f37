#include "server/app/catalog/content_digests.h"

#include <algorithm>
#include <optional>

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
  for (const Job& job : jobs_) {
    all += job.askers.size();
    own += static_cast<size_t>(
        std::count_if(job.askers.begin(), job.askers.end(),
                      [user](const Asker& asker) { return asker.user == user; }));
  }
  if (own < options_.most_askers_of_a_user && all < options_.most_askers) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(own, " of this user are waiting for digests, ",
                                                   all, " in all; try again later"));
}

void ContentDigests::Ask(std::shared_ptr<const source::Dataset> dataset, uint64_t user,
                         std::function<bool()> cancelled, const Done& done) {
  std::optional<absl::StatusOr<std::string>> answer;
  Jobs::iterator job;
  bool is_new = false;
  {
    const base::MutexLock lock(mutex_);
    if (const std::optional<std::string> known = Known(*dataset)) {
      answer = *known;
    } else if (const absl::Status may = MayWait(user); !may.ok()) {
      answer = may;
    } else {
      job = std::find_if(jobs_.begin(), jobs_.end(),
                         [&](const Job& each) { return each.dataset == dataset; });
      is_new = job == jobs_.end();
      if (is_new) job = jobs_.insert(job, Job{.dataset = std::move(dataset), .askers = {}});
      job->askers.push_back({user, std::move(cancelled), done});
    }
  }
  if (answer) return done(*std::move(answer));
  if (!is_new) return;
  const std::string desk = absl::StrFormat("%p", job->dataset.get());
  if (const absl::Status taken = desks_.Do(desk, user, [this, job] { Run(job); }); !taken.ok())
    Finish(job, taken);
}

// For a dataset that has not changed since.
std::optional<std::string> ContentDigests::Known(const source::Dataset& dataset) {
  std::erase_if(made_, [](const Made& made) { return made.dataset.expired(); });
  for (const Made& made : made_)
    if (made.dataset.lock().get() == &dataset && !dataset.changed()) return made.digest;
  return std::nullopt;
}

// Whether anyone still waits for it.
bool ContentDigests::GoOn(Jobs::iterator job) {
  const base::MutexLock lock(mutex_);
  return !stopping_ && Wanted(*job);
}

bool ContentDigests::Wanted(const Job& job) {
  return std::any_of(job.askers.begin(), job.askers.end(),
                     [](const Asker& asker) { return !asker.cancelled(); });
}

void ContentDigests::Run(Jobs::iterator job) {
  source::ParallelFor parallel_for;
  parallel_for.threads = options_.threads;
  parallel_for.watch = [this, job] { return GoOn(job); };
  const std::shared_ptr<const source::Dataset> dataset = job->dataset;  // constant during the job
  while (!Finish(job, GoOn(job) ? source::ContentDigest(*dataset, parallel_for)
                                : absl::CancelledError("nobody waits for the digest any more"))) {
  }
}

// False: all those who waited had left, so it was cancelled, but another request came. Run it
// again.
bool ContentDigests::Finish(Jobs::iterator job, const absl::StatusOr<std::string>& digest) {
  std::vector<Asker> askers;
  {
    const base::MutexLock lock(mutex_);
    if (absl::IsCancelled(digest.status()) && !stopping_ && Wanted(*job)) return false;
    if (digest.ok()) made_.push_back({job->dataset, *digest});
    askers = std::move(job->askers);
    jobs_.erase(job);
  }
  for (const Asker& asker : askers) asker.done(digest);
  return true;
}

}  // namespace penstock::app
