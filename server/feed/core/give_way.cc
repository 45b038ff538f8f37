#include "server/feed/core/give_way.h"

#include <tuple>

#include "server/feed/core/spending.h"

namespace penstock::feed {

std::optional<UserId> WhoGivesWay(const SlotHolder& waiting, std::span<const SlotHolder> holders) {
  const auto keeps = [](const SlotHolder& holder) {
    return holder.worker_slots - holder.giving_way + holder.set_aside;
  };
  // Slots that are about to be freed count as the waiting user's.
  uint32_t coming = keeps(waiting);
  for (const SlotHolder& holder : holders) coming += holder.giving_way;
  const auto rank = [&](const SlotHolder& holder) {
    return std::tuple(keeps(holder), holder.spent);
  };
  const SlotHolder* most = nullptr;
  for (const SlotHolder& holder : holders) {
    if (holder.user == waiting.user || keeps(holder) <= coming) continue;
    if (holder.worker_slots == holder.giving_way) continue;
    if (holder.spent - waiting.spent < kTurn) continue;
    if (most == nullptr || rank(holder) > rank(*most)) most = &holder;
  }
  if (most == nullptr) return std::nullopt;
  return most->user;
}

}  // namespace penstock::feed
