// The exponentially weighted mean of a figure over the last seconds. Pure; one thread.
#pragma once

#include <chrono>
#include <cmath>

#include "common/base/clock.h"

namespace penstock::feed {

class Recent {
 public:
  // The figure had this value for the time `held` until now.
  void Add(double value, base::Duration held) {
    constexpr std::chrono::duration<double> kMemory(5);
    const double kept = std::exp(-(std::chrono::duration<double>(held) / kMemory));
    sum_ = sum_ * kept + value * (1 - kept);
    weight_ = weight_ * kept + (1 - kept);
  }

  double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  // Whether the mean covers at least two seconds; over less it is not meaningful.
  bool has_data() const { return weight_ > 0.32; }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace penstock::feed
