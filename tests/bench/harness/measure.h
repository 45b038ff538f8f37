// The measuring loop of all suites: runs alternate, round after round, and the median of each is
// reported, so that other load on the machine affects all of them alike.
#pragma once

#include <functional>
#include <vector>

#include "common/base/status.h"

namespace penstock::bench {

// The middle value, or the mean of the two middle values. **Requires**: at least one value.
double Median(std::vector<double> values);

// One run; returns its speed. An error ends the suite.
using Run = std::function<absl::StatusOr<double>()>;

// Does each run once to warm up, uncounted, then `rounds` times; every second round goes backwards.
// Returns the medians in the order of the runs. Cancelled once a signal has come.
absl::StatusOr<std::vector<double>> AlternatingMedians(const std::vector<Run>& runs, int rounds);

enum class Time {
  kWall,
  kThread,  // CPU time of this thread: for work that needs one core and nothing else
};

// Seconds since its construction. One thread.
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
