#include "server/workers/queue/arena.h"

#include <algorithm>

#include "common/base/check.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kAlignment = 64;

// At least one unit, so that no two regions have the same offset.
uint64_t SizeOf(uint64_t bytes) {
  return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

InputArena::InputArena(uint64_t bytes) : bytes_(bytes) { PENSTOCK_CHECK(bytes % kAlignment == 0); }

// The start of the first gap of that size between the regions that count.
template <typename Counts>
std::optional<uint64_t> InputArena::FirstGap(uint64_t size, const Counts& counts) const {
  uint64_t begin = 0;
  for (const Region& region : regions_) {
    if (!counts(region)) continue;
    if (region.begin - begin >= size) return begin;
    begin = region.end;
  }
  if (bytes_ - begin >= size) return begin;
  return std::nullopt;
}

std::optional<uint64_t> InputArena::Allocate(uint64_t bytes) {
  if (bytes > bytes_) return std::nullopt;
  const uint64_t size = SizeOf(bytes);
  const std::optional<uint64_t> begin = FirstGap(size, [](const Region&) { return true; });
  if (!begin) return std::nullopt;
  const auto behind =
      std::find_if(regions_.begin(), regions_.end(),
                   [&begin](const Region& region) { return region.begin > *begin; });
  regions_.insert(behind, {.begin = *begin, .end = *begin + size});
  return begin;
}

bool InputArena::WillFit(uint64_t bytes) const {
  return bytes <= bytes_ &&
         FirstGap(SizeOf(bytes), [](const Region& region) { return region.left_behind; });
}

std::vector<InputArena::Region>::iterator InputArena::Find(uint64_t offset) {
  const auto found = std::find_if(regions_.begin(), regions_.end(), [offset](const Region& region) {
    return region.begin == offset;
  });
  PENSTOCK_CHECK(found != regions_.end());
  return found;
}

void InputArena::Free(uint64_t offset) { regions_.erase(Find(offset)); }

void InputArena::LeaveBehind(uint64_t offset) { Find(offset)->left_behind = true; }

}  // namespace penstock::workers
