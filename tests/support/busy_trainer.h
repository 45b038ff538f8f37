// A trainer beside whatever a test does to its daemon: takes batches as fast as they come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace penstock::testing {

class BusyTrainer {
 public:
  // Of the dataset "photographs"; returns once the first batch came.
  explicit BusyTrainer(const std::string& address);
  ~BusyTrainer();

  // Batches a second that it gets from now on for so long; asks the daemon nothing.
  double RateFor(std::chrono::milliseconds time) const;

 private:
  void Train(const std::string& address);

  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> batches_ = 0;
  std::thread thread_;
};

// Medians of what rounds gave, in order: of three, and of up to seven where three gave less than
// `enough`, as they may on a busy machine.
struct Rounds {
  std::vector<double> sorted;
  double median() const { return sorted[sorted.size() / 2]; }
};
Rounds MeasureRounds(double enough, const std::function<double()>& round);

}  // namespace penstock::testing
