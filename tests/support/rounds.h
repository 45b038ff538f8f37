// Measures ratios of speeds, with enough repetitions to be reliable on a busy machine.
#pragma once

#include <functional>
#include <vector>

namespace penstock::testing {

struct Rounds {
  std::vector<double> sorted;
  double median() const { return sorted[sorted.size() / 2]; }
};

// The results of three rounds, or of up to seven while the median is less than `enough`, which a
// busy machine can cause. Rounds in which the hypervisor took more than a twentieth of this
// machine's time are repeated, up to twelve times in all, because steal time slows threads that
// sleep and wake more than threads that spin.
Rounds MeasureRounds(double enough, const std::function<double()>& round);

}  // namespace penstock::testing
