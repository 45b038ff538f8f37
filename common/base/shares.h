// Divides a scarce resource between users. One user may hold at most half of what the others leave,
// so that something is always left for one more user. A part can be reserved for privileged users,
// who can repair trouble: root and the daemon's own user.
//
// **Thread safety**: not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace penstock::base {

class Shares {
 public:
  Shares() = default;
  // `most`: the total amount. `kept`: how much of it is reserved for the privileged.
  explicit Shares(uint64_t most, uint64_t kept = 0) : most_(most), kept_(std::min(kept, most)) {}

  // The amount this user may hold now, including what it already holds.
  uint64_t ShareOf(uint32_t user, bool privileged) const {
    const uint64_t by_others = held_ - HeldBy(user);
    if (privileged) return most_ - std::min(by_others, most_);
    const uint64_t open = most_ - kept_;
    return (open - std::min(by_others, open) + 1) / 2;
  }
  bool CanTake(uint32_t user, bool privileged, uint64_t amount = 1) const {
    const uint64_t share = ShareOf(user, privileged), held = HeldBy(user);
    return held <= share && amount <= share - held;
  }

  void Add(uint32_t user, uint64_t amount = 1) {
    if (amount == 0) return;
    by_user_[user] += amount;
    held_ += amount;
  }
  // Takes back at most what was added for this user.
  void Remove(uint32_t user, uint64_t amount = 1) {
    const auto found = by_user_.find(user);
    if (found == by_user_.end()) return;
    const uint64_t removed = std::min(amount, found->second);
    held_ -= removed;
    if ((found->second -= removed) == 0) by_user_.erase(found);
  }

  uint64_t HeldBy(uint32_t user) const {
    const auto found = by_user_.find(user);
    return found == by_user_.end() ? 0 : found->second;
  }
  uint64_t held() const { return held_; }
  uint64_t most() const { return most_; }

 private:
  uint64_t most_ = 0, kept_ = 0, held_ = 0;
  std::map<uint32_t, uint64_t> by_user_;  // only users who hold something
};

}  // namespace penstock::base
