// Ratios of speeds, measured often enough to be believed on a busy machine.
#pragma once

#include <functional>
#include <vector>

namespace penstock::testing {

struct Rounds {
  std::vector<double> sorted;
  double median() const { return sorted[sorted.size() / 2]; }
};

// What rounds gave: three, and up to seven where the median of three is less than `enough`, as it
// may be on a busy machine. Rounds in which the hypervisor gave more than a twentieth of this
// machine's time to others are made again, a dozen of them at most: whoever sleeps and wakes loses
// more by it than whoever turns in circles.
Rounds MeasureRounds(double enough, const std::function<double()>& round);

}  // namespace penstock::testing
