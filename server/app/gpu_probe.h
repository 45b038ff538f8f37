// Whether this machine has a usable GPU. Queried once at start on a thread of its own ("gpu
// probe"), because a driver may take a second to answer. Creates no context.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

namespace penstock::app {

class GpuProbe {
 public:
  GpuProbe();
  ~GpuProbe();

  // False until known.
  bool usable() const { return count().value_or(0) > 0; }
  // The number of GPUs; nullopt until known.
  std::optional<uint32_t> count() const {
    const int64_t count = count_.load(std::memory_order_relaxed);
    return count < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(count));
  }

 private:
  void Ask();

  std::atomic<int64_t> count_ = -1;
  std::thread thread_;
};

}  // namespace penstock::app
