// The mean of a figure over the last seconds, as it was looked at now and then: newer looks weigh
// more. Pure; one thread.
#pragma once

#include <chrono>
#include <cmath>

#include "common/base/clock.h"

namespace penstock::feed {

class Recent {
 public:
  // It was so for so long until now.
  void Add(double value, base::Duration held) {
    constexpr std::chrono::duration<double> kMemory(5);
    const double kept = std::exp(-(std::chrono::duration<double>(held) / kMemory));
    sum_ = sum_ * kept + value * (1 - kept);
    weight_ = weight_ * kept + (1 - kept);
  }

  double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  // Whether it was looked at for two seconds and more: less says little.
  bool has_data() const { return weight_ > 0.32; }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace penstock::feed
