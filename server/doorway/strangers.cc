#include "server/doorway/strangers.h"

#include <algorithm>
#include <utility>

namespace penstock::doorway {

std::optional<uint64_t> Strangers::DisplacedBy(uint32_t user) const {
  if (places_.CanTake(user, false)) return std::nullopt;
  const auto same_user = [user](const auto& stranger) { return stranger.second.user == user; };
  const auto oldest = std::find_if(strangers_.begin(), strangers_.end(), same_user);
  return oldest == strangers_.end() ? first() : oldest->first;
}

void Strangers::Add(uint64_t id, Stranger stranger) {
  places_.Add(stranger.user);
  strangers_.emplace(id, std::move(stranger));
}

Stranger Strangers::Remove(uint64_t id) {
  auto node = strangers_.extract(id);
  places_.Remove(node.mapped().user);
  return std::move(node.mapped());
}

std::optional<uint64_t> Strangers::first() const {
  return strangers_.empty() ? std::nullopt : std::optional(strangers_.begin()->first);
}

}  // namespace penstock::doorway
