// How long an item of each user takes a worker slot on average, and so how many a worker slot is
// given at once. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "common/base/clock.h"

namespace penstock::workers {

class ItemTimes {
 public:
  // The user has a worker from now on.
  void Add(uint32_t user) { mean_.try_emplace(user); }
  void Note(uint32_t user, base::Duration each) {
    base::Duration& mean = mean_[user];
    mean = mean == base::Duration::zero() ? each : mean + (each - mean) / 4;
  }
  // Forgets the users of whom `is_gone(user)` is true.
  template <typename IsGone>
  void ForgetIf(const IsGone& is_gone) {
    std::erase_if(mean_, [&](const auto& entry) { return is_gone(entry.first); });
  }

  // How many items of the user take a worker slot for no longer than `turn`: at least one, at most
  // `most`. One for a user that is not known yet.
  size_t Depth(uint32_t user, base::Duration turn, size_t most) const {
    const auto known = mean_.find(user);
    if (known == mean_.end() || known->second <= base::Duration::zero()) return 1;
    return std::clamp<size_t>(turn / known->second, 1, most);
  }

 private:
  std::map<uint32_t, base::Duration> mean_;
};

}  // namespace penstock::workers
