#include "server/workers/slots/slot_choice.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace penstock::workers {
namespace {

bool TakesMoreOf(const SlotLoad& slot, uint32_t user) {
  return slot.is_open && (slot.IsFree() || (slot.IsOf(user) && !slot.gives_way));
}

std::tuple<size_t, int> RankFor(const SlotLoad& slot, uint32_t user) {
  if (!slot.user) return {0, 1};
  return {slot.outstanding, slot.IsOf(user) ? 0 : 2};
}

}  // namespace

size_t HeadroomFor(std::span<const SlotLoad> slots, uint32_t user, size_t depth,
                   uint32_t most_worker_slots) {
  uint32_t own = 0, free = 0;
  size_t headroom = 0;
  for (const SlotLoad& slot : slots) {
    if (!slot.is_open) continue;
    if (slot.IsFree()) {
      ++free;
    } else if (slot.IsOf(user)) {
      ++own;
      if (!slot.gives_way) headroom += depth - std::min(depth, slot.outstanding);
    }
  }
  return headroom + depth * std::min(free, most_worker_slots - std::min(most_worker_slots, own));
}

std::optional<size_t> ChooseSlot(std::span<const SlotLoad> slots, uint32_t user, size_t depth,
                                 uint32_t most_worker_slots) {
  const auto own = std::count_if(slots.begin(), slots.end(), [user](const SlotLoad& slot) {
    return slot.is_open && !slot.IsFree() && slot.IsOf(user);
  });
  const bool may_have_another = static_cast<size_t>(own) < most_worker_slots;
  std::optional<size_t> best;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!TakesMoreOf(slots[i], user) || (slots[i].IsFree() && !may_have_another)) continue;
    if (!best || RankFor(slots[i], user) < RankFor(slots[*best], user)) best = i;
  }
  const bool is_full = best && !slots[*best].IsFree() && slots[*best].outstanding >= depth;
  return is_full ? std::nullopt : best;
}

std::optional<size_t> ChooseToGiveWay(std::span<const SlotLoad> slots, uint32_t user) {
  std::optional<size_t> soonest;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].IsFree() || slots[i].gives_way || !slots[i].IsOf(user)) continue;
    if (!soonest || slots[i].outstanding < slots[*soonest].outstanding) soonest = i;
  }
  return soonest;
}

std::vector<SlotHolding> ToHoldings(std::span<const SlotLoad> slots,
                                    std::span<const AsideLoad> aside) {
  std::map<uint32_t, SlotHolding> by_user;
  for (const SlotLoad& slot : slots) {
    if (slot.IsFree() || slot.is_retiring) continue;
    SlotHolding& holding = by_user[*slot.user];
    holding.user = *slot.user;
    ++holding.worker_slots;
    holding.giving_way += slot.gives_way ? 1 : 0;
    holding.uncharged += slot.uncharged;
  }
  for (const AsideLoad& each : aside) {
    SlotHolding& holding = by_user[each.user];
    holding.user = each.user;
    ++holding.set_aside;
    holding.uncharged += each.uncharged;
  }
  std::vector<SlotHolding> holdings;
  for (const auto& [user, holding] : by_user) holdings.push_back(holding);
  return holdings;
}

}  // namespace penstock::workers
