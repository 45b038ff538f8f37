#include "client/src/gpu/pins.h"

#include "absl/strings/str_cat.h"

namespace penstock::client {

// Registers under the lock, once for each segment, so that two sessions do not register it twice.
absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pins::Pin(
    uint32_t id, std::shared_ptr<const posix::Mapping> mapping, Gpu& gpu) {
  const base::MutexLock lock(mutex_);
  if (auto known = known_[id].lock(); known != nullptr) return known;
  absl::StatusOr<std::unique_ptr<Gpu::Pages>> pages =
      gpu.Register(mapping->data(), mapping->size(), Gpu::Access::kReadOnly);
  if (!pages.ok()) {
    return base::Annotate(pages.status(), absl::StrCat("registering segment ", id));
  }
  auto pinned =
      std::make_shared<const PinnedSegment>(PinnedSegment{std::move(mapping), *std::move(pages)});
  known_[id] = pinned;
  return pinned;
}

}  // namespace penstock::client
