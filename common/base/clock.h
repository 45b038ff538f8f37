// Time as an argument: the core takes a TimePoint; only the code around it asks a Clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock::base {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
};

// CLOCK_MONOTONIC. Safe from any thread.
class SteadyClock final : public Clock {
 public:
  TimePoint Now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
};

// The current time of a SteadyClock.
inline TimePoint Now() { return SteadyClock().Now(); }

// For tests: time stands still until Advance.
class ManualClock final : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  void Advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{};
};

}  // namespace penstock::base
