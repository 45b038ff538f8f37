#include "server/source/core/dataset_closer.h"

#include <pthread.h>

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
  return {dataset.release(), [closer = weak_from_this()](const Dataset* last) {
            std::unique_ptr<const Dataset> closed(last);
            if (const auto alive = closer.lock()) alive->Close(std::move(closed));
          }};
}

absl::Status DatasetCloser::AwaitRoom(base::Duration patience) {
  const base::TimePoint until = base::Now() + patience;
  for (;; std::this_thread::sleep_for(kLookEvery)) {
    const base::TimePoint now = base::Now();
    const base::MutexLock lock(mutex_);
    Sweep();
    if (closing_.size() < most_) return absl::OkStatus();
    if (now >= until)
      return absl::ResourceExhaustedError(
          absl::StrCat(closing_.size(),
                       " datasets are being closed, as many as may be open; their storage does "
                       "not answer: ",
                       Longest(now)));
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
  Sweep();
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
    const bool has_ended = each.thread.ended->load(std::memory_order_acquire);
    if (has_ended) each.thread.thread.join();
    return has_ended;
  });
}

std::string DatasetCloser::Longest(base::TimePoint now) const {
  const Closing& longest = closing_.front();
  return absl::StrCat(longest.what, " for ",
                      std::chrono::duration_cast<seconds>(now - longest.begun).count(), " s");
}

void DatasetCloser::SayIfTheyHang(base::TimePoint now) {
  if (closing_.empty() || now - closing_.front().begun < kLong || now - said_ < kSaidAgain) return;
  said_ = now;
  PENSTOCK_LOG(kWarning, "datasets_take_long_to_close", {"count", closing_.size()},
               {"longest", Longest(now)});
}

}  // namespace penstock::source
