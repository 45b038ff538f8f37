// When a request takes so long that a second one for the same bytes is worth its cost. Pure.
//
// The limit is a little above the 95th percentile of requests of about the same size. A token
// bucket keeps second requests below a share of all (Dean and Barroso, "The Tail at Scale", 2013).
// **Thread safety**: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/base/clock.h"

namespace penstock::store {

// The distribution of durations, the older ones counting less and less.
class Durations {
 public:
  void Add(base::Duration duration);
  // The duration that the share of them does not exceed, up to a fifth too long. **Requires**:
  // count() > 0.
  base::Duration Quantile(double share) const;
  uint32_t count() const { return count_; }

 private:
  static constexpr size_t kSteps = 80;  // 0.25 ms … 2^20 times that, four for each doubling
  std::array<uint32_t, kSteps> steps_ = {};
  uint32_t count_ = 0;
};

class Hedging {
 public:
  struct Options {
    double most_share = 0.02;   // of second requests among all
    uint32_t least_known = 64;  // requests of about that size, before any is repeated
    base::Duration least = std::chrono::milliseconds(10);
  };
  explicit Hedging(const Options& options) : options_(options) {}

  // A request for so many bytes begins: how long to wait for it. Not set: too little is known.
  std::optional<base::Duration> Begin(uint64_t bytes);
  void End(uint64_t bytes, base::Duration took);
  // Whether a second request may be sent now; then it counts.
  bool Spend();

 private:
  static constexpr size_t kClasses = 20;
  static constexpr double kMostTokens = 10;
  static size_t ClassOf(uint64_t bytes);

  const Options options_;
  std::array<Durations, kClasses> classes_ = {};  // by size, a factor of 4 each
  double tokens_ = 1;
};

}  // namespace penstock::store
