// How many requests to a store may be under way. Pure.
//
// The window grows while that pays: after a round (as many requests as it holds) in which it was
// full, by a quarter; if the next round carried less than a twentieth more bytes a second, it goes
// back, and grows again only some rounds later. When the store asks to slow down, it halves, once a
// round (additive increase and multiplicative decrease, as TCP's congestion control).
// **Thread safety**: one thread.
#pragma once

#include <cstdint>

#include "common/base/clock.h"

namespace penstock::store {

class RequestWindow {
 public:
  struct Limits {
    uint32_t least = 4, first = 64, most = 512;
  };
  explicit RequestWindow(const Limits& limits);

  uint32_t size() const { return size_; }
  uint64_t halvings() const { return halvings_; }

  struct EndedRequest {
    uint64_t bytes = 0;         // 0 if it failed
    bool was_full = false;      // whether others waited for the window
    bool asks_to_slow = false;  // the store wants fewer requests
  };
  void End(const EndedRequest& request, base::TimePoint now);

 private:
  void BeginRound(base::TimePoint now);
  void EndRound(base::TimePoint now);
  void Grow();
  void Halve(base::TimePoint now);

  const Limits limits_;
  uint32_t size_;
  uint64_t halvings_ = 0;
  // Of the round.
  base::TimePoint began_ = {};
  uint32_t ended_ = 0, full_ = 0;
  uint64_t bytes_ = 0;
  bool has_halved_ = false;
  // A size before it grew, and the bytes a second there; 0: it has not grown.
  uint32_t smaller_ = 0;
  double smaller_rate_ = 0;
  uint32_t rest_ = 0;       // rounds until it may grow
  uint32_t next_rest_ = 8;  // doubles each time that growing did not pay
};

}  // namespace penstock::store
