// How everything here is measured: each thing in turn, round after round, and of each the median,
// so that whatever else the machine does strikes all of them alike.
#pragma once

#include <functional>
#include <vector>

#include "common/base/status.h"

namespace penstock::bench {

// The middle of at least one value; of an even number the mean of the two in the middle.
double Median(std::vector<double> values);

// One run: how fast it was. Errors end the suite.
using Run = std::function<absl::StatusOr<double>()>;

// Each run once to warm up, uncounted, then `rounds` times in turn; every second round goes
// backwards. The medians, in the order of the runs. Cancelled once a signal asked to end.
absl::StatusOr<std::vector<double>> AlternatingMedians(const std::vector<Run>& runs, int rounds);

enum class Time {
  kWall,
  kThread,  // what this thread had of a core: for what needs one core and nothing else
};

// Seconds since it was made. Its thread alone.
class Stopwatch {
 public:
  explicit Stopwatch(Time time) : time_(time), start_(Now()) {}
  double Seconds() const { return Now() - start_; }

 private:
  double Now() const;

  Time time_;
  double start_;
};

}  // namespace penstock::bench
