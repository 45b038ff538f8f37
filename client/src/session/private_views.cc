#include "client/src/session/private_views.h"

#include <algorithm>

namespace penstock::client {

// A new view is a quarter larger than the batch, so that it fits slightly larger ones.
absl::StatusOr<posix::Mapping> PrivateViews::Take(uint64_t from, size_t bytes, size_t most) {
  posix::Mapping view;
  {
    const base::MutexLock lock(mutex_);
    if (auto kept = kept_.extract(from)) view = std::move(kept.mapped());
  }
  if (view.size() >= bytes) return view;
  PENSTOCK_ASSIGN_OR_RETURN(
      view, posix::Mapping::MapPrivately(memory_, from, std::min(bytes + bytes / 4, most)));
  view.LeaveOutOfDumps();
  return view;
}

// A view whose pages cannot be dropped is unmapped.
void PrivateViews::GiveBack(uint64_t from, size_t bytes, posix::Mapping view) {
  if (!own_pages_.Drop(view.bytes().first(bytes)).ok()) return;
  const base::MutexLock lock(mutex_);
  kept_.try_emplace(from, std::move(view));
}

}  // namespace penstock::client
