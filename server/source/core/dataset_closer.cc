#include "server/source/core/dataset_closer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/limits.h"
#include "common/telemetry/log.h"

namespace penstock::source {
namespace {

using std::chrono::seconds;

constexpr seconds kLong(5);        // for one to close
constexpr seconds kSaidAgain(60);  // that some take long
constexpr std::chrono::milliseconds kLookEvery(10);

}  // namespace

std::shared_ptr<const Dataset> DatasetCloser::Share(std::unique_ptr<const Dataset> dataset) {
  if (!IsCounted(*dataset)) return dataset;
  return {dataset.release(), [closer = weak_from_this()](const Dataset* last) {
            std::unique_ptr<const Dataset> closed(last);
            if (const auto alive = closer.lock()) alive->Close(std::move(closed));
          }};
}

bool DatasetCloser::IsCounted(const Dataset& dataset) {
  return dataset.storage() != Storage::kNothing && dataset.storage() != Storage::kMade;
}

// The refusal names no dataset: it may be another user's.
absl::Status DatasetCloser::AwaitRoom(base::Duration patience,
                                      const std::function<bool()>& is_wanted) {
  const base::TimePoint until = base::Now() + patience;
  for (;; std::this_thread::sleep_for(kLookEvery)) {
    if (!is_wanted()) return absl::CancelledError("opening the dataset was cancelled");
    const base::TimePoint now = base::Now();
    const base::MutexLock lock(mutex_);
    Sweep();
    SayIfTheyHang(now);
    if (closing_.size() < most_) return absl::OkStatus();
    const Closing* const longest = Longest();
    if (longest == nullptr || now < until) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        closing_.size(), " datasets are being closed, as many as may be open, one of them for ",
        longest->Seconds(now),
        " s; their storage does not answer (the daemon's log says which); try again later"));
  }
}

void DatasetCloser::Stop() {
  std::list<Closing> closing;
  {
    const base::MutexLock lock(mutex_);
    stopped_ = true;
    closing.swap(closing_);
  }
  // Joined without the lock, because a mixture that is closed closes its parts.
  for (Closing& each : closing) each.thread.thread.join();
}

// If the system has no thread left, the dataset is closed here after all, as when it is stopped.
void DatasetCloser::Close(std::unique_ptr<const Dataset> dataset) {
  Closing closing = {.thread = {},
                     .what = absl::StrCat(dataset->kind(), " ", dataset->path(0)),
                     .begun = base::Now()};
  const auto doomed = std::make_shared<std::unique_ptr<const Dataset>>(std::move(dataset));
  const base::MutexLock lock(mutex_);
  if (stopped_) return;
  SayIfTheyHang(closing.begun);
  auto thread = posix::LooseThreads::Start([doomed] {
    ::pthread_setname_np(::pthread_self(), "closing");
    posix::GiveWay(posix::Priority::kLow).IgnoreError();
    doomed->reset();
  });
  if (!thread) return;
  closing.thread = *std::move(thread);
  closing_.push_back(std::move(closing));
}

void DatasetCloser::Sweep() {
  std::erase_if(closing_, [](Closing& each) {
    if (!each.has_ended()) return false;
    each.thread.thread.join();
    return true;
  });
}

int64_t DatasetCloser::Closing::Seconds(base::TimePoint now) const {
  return std::chrono::duration_cast<seconds>(now - begun).count();
}

const DatasetCloser::Closing* DatasetCloser::Longest() const {
  const auto found = std::ranges::find_if(closing_, [](auto& each) { return !each.has_ended(); });
  return found == closing_.end() ? nullptr : &*found;
}

void DatasetCloser::SayIfTheyHang(base::TimePoint now) {
  if (now - said_ < kSaidAgain) return;
  const Closing* const longest = Longest();
  if (longest == nullptr || now - longest->begun < kLong) return;
  said_ = now;
  PENSTOCK_LOG(kWarning, "datasets_take_long_to_close", {"longest", longest->what},
               {"seconds", longest->Seconds(now)});
}

}  // namespace penstock::source
