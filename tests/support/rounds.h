// Measures ratios of speeds, often enough to be reliable on a busy machine.
#pragma once

#include <functional>
#include <vector>

namespace penstock::testing {

struct Rounds {
  std::vector<double> sorted;
  double median() const { return sorted[sorted.size() / 2]; }
};

// The results of three rounds, or of up to seven if the median of three is less than `enough`, as
// happens on a busy machine. Rounds in which the hypervisor took more than a twentieth of this
// machine's time are repeated, up to twelve times, because threads that sleep and wake lose more by
// it than threads that spin.
Rounds MeasureRounds(double enough, const std::function<double()>& round);

}  // namespace penstock::testing
