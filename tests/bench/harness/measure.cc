#include "tests/bench/harness/measure.h"

#include <time.h>

#include <algorithm>

#include "common/base/check.h"
#include "tests/bench/harness/interrupt.h"

namespace penstock::bench {

double Median(std::vector<double> values) {
  PENSTOCK_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

absl::StatusOr<std::vector<double>> AlternatingMedians(const std::vector<Run>& runs, int rounds) {
  std::vector<std::vector<double>> values(runs.size());
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      PENSTOCK_RETURN_IF_ERROR(CheckInterrupted());
      const size_t turn = round % 2 == 0 ? i : runs.size() - 1 - i;
      PENSTOCK_ASSIGN_OR_RETURN(const double value, runs[turn]());
      if (round > 0) values[turn].push_back(value);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& each : values) medians.push_back(Median(std::move(each)));
  return medians;
}

double Stopwatch::Now() const {
  timespec now;
  ::clock_gettime(time_ == Time::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace penstock::bench
