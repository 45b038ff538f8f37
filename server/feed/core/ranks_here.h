// Which ranks of a feed have sessions with this daemon. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace penstock::feed {

struct RanksHere {
  uint32_t world = 1;
  uint32_t batch_size = 1;
  std::vector<uint32_t> ranks = {};  // sorted

  // Whether one of them has that index of an epoch which all ranks begin together: batches are
  // dealt out to ranks one by one (plan::BatchAt).
  bool Have(uint64_t index) const {
    const auto rank = static_cast<uint32_t>(index / batch_size % world);
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  }
};

}  // namespace penstock::feed
