// The exponentially weighted mean of a figure over the last moments: five seconds unless told
// otherwise. Pure; one thread.
#pragma once

#include <chrono>
#include <cmath>

#include "common/base/clock.h"

namespace penstock::feed {

class Recent {
 public:
  using Seconds = std::chrono::duration<double>;

  Recent() = default;
  explicit Recent(Seconds memory) : memory_(memory) {}

  // The figure had this value for the time `held` until now.
  void Add(double value, base::Duration held) {
    const double kept = std::exp(-(Seconds(held) / memory_));
    sum_ = sum_ * kept + value * (1 - kept);
    weight_ = weight_ * kept + (1 - kept);
  }

  double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  // Whether the mean covers at least two of five seconds; over less it is not meaningful.
  bool has_data() const { return weight_ > 0.32; }

 private:
  Seconds memory_{5};
  double sum_ = 0, weight_ = 0;
};

}  // namespace penstock::feed
