#include "server/feed/core/give_way.h"

#include <tuple>

#include "server/feed/core/spending.h"

namespace penstock::feed {

std::optional<UserId> WhoGivesWay(const PostHolder& waiting, std::span<const PostHolder> holders) {
  // What is on its way counts as the one's who waits.
  uint32_t coming = waiting.posts - waiting.giving_way;
  for (const PostHolder& holder : holders) coming += holder.giving_way;
  const auto rank = [](const PostHolder& holder) {
    return std::tuple(holder.posts - holder.giving_way, holder.spent);
  };
  const PostHolder* most = nullptr;
  for (const PostHolder& holder : holders) {
    if (holder.user == waiting.user || holder.posts - holder.giving_way <= coming) continue;
    if (holder.spent - waiting.spent < kTurn) continue;
    if (most == nullptr || rank(holder) > rank(*most)) most = &holder;
  }
  if (most == nullptr) return std::nullopt;
  return most->user;
}

}  // namespace penstock::feed
