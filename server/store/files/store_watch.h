// Follows the counts of the stores: how fast they are, and what should be in the log.
// **Thread safety**: one thread.
#pragma once

#include <deque>

#include "common/base/clock.h"
#include "server/store/files/store_counts.h"

namespace penstock::store {

class StoreWatch {
 public:
  // Call it some times a second. Logs, at most every ten minutes each: that the cache keeps nothing
  // more, that it cannot take files, that what it kept was damaged.
  void Look(const StoreCounts& counts, base::TimePoint now);
  StoreRates rates() const { return rates_; }

 private:
  struct Sight {
    base::TimePoint at;
    uint64_t bytes = 0, under_way = 0;
  };
  // Whether a count has grown since it was last logged, and it is time to log it again.
  struct Noted {
    uint64_t logged = 0;
    base::TimePoint at = {};
    bool IsNews(uint64_t count, base::TimePoint now);
  };

  std::deque<Sight> looks_;  // of the last seconds
  StoreRates rates_;
  Noted no_room_, no_mirrors_, damaged_;
};

}  // namespace penstock::store
