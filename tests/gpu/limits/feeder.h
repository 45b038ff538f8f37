// Takes batches as fast as they come and releases them at once, with one thread and stream per
// lane. It computes nothing itself, so only the daemon's work adds load to the GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "client/include/penstock/penstock.h"

namespace penstock::gpu {

class Feeder {
 public:
  // Sessions that one thread uses in sequence, taking `batches` of each.
  using Lane = std::vector<Session>;
  Feeder(std::vector<Lane> lanes, uint64_t batches);
  ~Feeder();  // stops and closes the sessions

  // Waits until this many batches were taken, for at most a minute.
  void Await(uint64_t batches) const;
  uint64_t taken() const { return taken_; }
  // Whether no lane has finished all its sessions.
  bool feeding() const { return ended_ == 0; }

 private:
  void Run(Lane& lane);

  const uint64_t batches_;
  std::vector<Lane> lanes_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> taken_ = 0;
  std::atomic<int> ended_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace penstock::gpu
