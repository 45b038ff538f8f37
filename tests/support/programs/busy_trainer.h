// A trainer that runs beside a test and takes batches as fast as they come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace penstock::testing {

class BusyTrainer {
 public:
  // Trains on the dataset "photographs". Returns once the first batch has come.
  explicit BusyTrainer(const std::string& address);
  ~BusyTrainer();

  // Batches per second over the next `time`. Doesn't call the daemon.
  double RateFor(std::chrono::milliseconds time) const;

 private:
  void Train(const std::string& address);

  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> batches_ = 0;
  std::thread thread_;
};

}  // namespace penstock::testing
