// For each user, the mean time that an item occupies a worker slot. It decides how many of the
// user's items a slot gets at the same time. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "common/base/clock.h"

namespace penstock::workers {

class ItemTimes {
 public:
  // The user now has a worker.
  void Add(uint32_t user) { mean_.try_emplace(user); }
  void Note(uint32_t user, base::Duration each) {
    base::Duration& mean = mean_[user];
    mean = mean == base::Duration::zero() ? each : mean + (each - mean) / 4;
  }
  // Forgets users for whom `is_gone(user)` is true.
  template <typename IsGone>
  void ForgetIf(const IsGone& is_gone) {
    std::erase_if(mean_, [&](const auto& entry) { return is_gone(entry.first); });
  }

  // The number of the user's items that occupy a worker slot for `turn` together, from 1 to `most`.
  // 1 for an unknown user.
  size_t Depth(uint32_t user, base::Duration turn, size_t most) const {
    const auto known = mean_.find(user);
    if (known == mean_.end() || known->second <= base::Duration::zero()) return 1;
    return std::clamp<size_t>(turn / known->second, 1, most);
  }

 private:
  std::map<uint32_t, base::Duration> mean_;
};

}  // namespace penstock::workers
