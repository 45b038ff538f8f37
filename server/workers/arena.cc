#include "server/workers/arena.h"

#include "common/base/check.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kRoomyGap = 4;  // allocations of this size, at the arena's beginning

}  // namespace

Arena::Arena(uint64_t bytes) : bytes_(bytes) { PENSTOCK_CHECK(bytes % kAlignment == 0); }

std::optional<uint64_t> Arena::Allocate(uint64_t bytes) {
  if (bytes > bytes_) return std::nullopt;
  // At least one unit, so that two regions never begin at the same place.
  const uint64_t size =
      bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  uint64_t begin = 0;
  uint64_t limit = bytes_;
  if (!regions_.empty()) {
    const uint64_t head = regions_.front().begin;
    const uint64_t tail = regions_.back().end;
    const bool wrapped = regions_.back().begin < head;
    // Early, but not into a gap that would soon be too narrow for what comes next.
    const bool wrap = !wrapped && (size <= head / kRoomyGap || size > bytes_ - tail);
    if (!wrap) begin = tail;
    if (wrap || wrapped) limit = head;
  }
  if (begin > limit || size > limit - begin) return std::nullopt;
  regions_.push_back({begin, begin + size});
  return begin;
}

void Arena::FreeOldest() {
  PENSTOCK_CHECK(!regions_.empty());
  regions_.pop_front();
}

void Arena::FreeNewest() {
  PENSTOCK_CHECK(!regions_.empty());
  regions_.pop_back();
}

}  // namespace penstock::workers
