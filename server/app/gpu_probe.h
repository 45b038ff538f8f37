// Whether this machine has a GPU that can be delivered to: asked once at start, on a thread of its
// own ("gpu probe"), because a driver may take a second to answer. Makes no context. Any thread.
#pragma once

#include <atomic>
#include <thread>

namespace penstock::app {

class GpuProbe {
 public:
  GpuProbe();
  ~GpuProbe();

  // False until it is known.
  bool usable() const { return usable_.load(std::memory_order_relaxed); }

 private:
  void Ask();

  std::atomic<bool> usable_ = false;
  std::thread thread_;
};

}  // namespace penstock::app
