// Counters for each user since the start. Pure; one thread.
//
// Invariant: counters only grow, and there are at most kMostUsers of them; later users share one. A
// user keeps its counters and its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "common/base/clock.h"

namespace penstock::feed {

struct UserTotals {
  uint32_t user = 0;
  bool others = false;  // all users beyond the limit
  uint64_t rows_decoded = 0, batches_announced = 0;
  base::Duration decode{};      // workers' wall-clock time on its rows
  base::Duration worker_cpu{};  // processor time of the workers that decoded them
};

class UserCounts {
 public:
  static constexpr size_t kMostUsers = 256;

  UserTotals& Of(uint32_t user) {
    const auto found = places_.find(user);
    if (found != places_.end()) return all_[found->second];
    if (places_.size() < kMostUsers) {
      places_.emplace(user, all_.size());
      return all_.emplace_back(UserTotals{.user = user});
    }
    if (all_.size() == kMostUsers) all_.push_back({.others = true});
    return all_.back();
  }
  // In order of first appearance; the shared entry is last.
  const std::vector<UserTotals>& all() const { return all_; }

 private:
  std::map<uint32_t, size_t> places_;
  std::vector<UserTotals> all_;
};

}  // namespace penstock::feed
