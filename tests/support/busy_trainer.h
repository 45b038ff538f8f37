// A trainer beside whatever a test does to its daemon: takes batches as fast as they come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

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

}  // namespace penstock::testing
