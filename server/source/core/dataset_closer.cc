#include "server/source/core/dataset_closer.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/limits.h"

namespace penstock::source {

std::shared_ptr<const Dataset> DatasetCloser::Share(std::unique_ptr<const Dataset> dataset) {
  return {dataset.release(), [closer = weak_from_this()](const Dataset* last) {
            std::unique_ptr<const Dataset> closed(last);
            if (const auto alive = closer.lock()) alive->Close(std::move(closed));
          }};
}

absl::Status DatasetCloser::MayOpen() {
  const base::MutexLock lock(mutex_);
  if (threads_ != nullptr) threads_->Sweep();
  if (threads_ == nullptr || threads_->CanStart()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(kMost, " datasets are being closed, and their storage does not answer"));
}

void DatasetCloser::Stop() {
  std::unique_ptr<posix::LooseThreads> threads;
  {
    const base::MutexLock lock(mutex_);
    threads = std::move(threads_);
  }
  // Joined without the lock, because a mixture that is closed closes its parts.
  if (threads != nullptr) threads->JoinAll();
}

// If the system has no thread left, the dataset is closed here after all, as when it is stopped.
void DatasetCloser::Close(std::unique_ptr<const Dataset> dataset) {
  const auto doomed = std::make_shared<std::unique_ptr<const Dataset>>(std::move(dataset));
  const base::MutexLock lock(mutex_);
  if (threads_ == nullptr) return;
  threads_->Sweep();
  auto thread = posix::LooseThreads::Start([doomed] {
    ::pthread_setname_np(::pthread_self(), "closing");
    posix::GiveWay(posix::Priority::kLow).IgnoreError();
    doomed->reset();
  });
  if (thread) threads_->Leave(*std::move(thread));
}

}  // namespace penstock::source
