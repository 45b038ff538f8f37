// Takes batches as fast as they come and gives them back at once, on streams of its own, as many
// threads at once as there are lanes. It computes nothing: what it makes the daemon do is all that
// it adds to the GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "client/include/penstock/penstock.h"

namespace penstock::gpu {

class Feeder {
 public:
  // A lane's sessions one after the other, `batches` of each.
  using Lane = std::vector<Session>;
  Feeder(std::vector<Lane> lanes, uint64_t batches);
  ~Feeder();  // stops, and closes the sessions

  // Waits until so many batches were taken; at most a minute.
  void Await(uint64_t batches) const;
  uint64_t taken() const { return taken_; }
  // No lane has come to its end.
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
