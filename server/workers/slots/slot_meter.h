// What a worker slot did: rows, the fraction of time it was busy, and how long it was occupied by
// its items. Pure; time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/base/clock.h"
#include "server/workers/work.h"

namespace penstock::workers {

// Fraction of time spent on samples, updated at most four times a second.
class Utilisation {
 public:
  void Update(base::TimePoint now, uint64_t busy_ns);
  void Restart(base::TimePoint now) { *this = Utilisation(now); }
  double value() const { return value_; }

  Utilisation() = default;

 private:
  explicit Utilisation(base::TimePoint now) : since_(now) {}
  base::TimePoint since_{};
  uint64_t busy_ns_ = 0;
  base::Duration unseen_{};  // time on samples that no value has shown yet
  double value_ = 0;
};

class SlotMeter {
 public:
  // An item occupies the worker slot, if it was free.
  void Take(base::TimePoint now) {
    if (!taken_since_) taken_since_ = now;
  }
  // Nothing occupies it any more.
  void Free() { taken_since_.reset(); }
  // Since when it has been occupied without a charge. Unset if it is free.
  const std::optional<base::TimePoint>& taken_since() const { return taken_since_; }

  // Writes the cost into the outcomes: the time for which the worker slot was occupied, charged to
  // the first of them. Returns the mean cost. **Requires**: at least one outcome.
  base::Duration Charge(std::span<Outcome> outcomes, base::TimePoint now);

  // `claimed_ns`: the time on samples that the worker reports since the last call.
  void AddBusy(uint64_t claimed_ns) { busy_ns_ += claimed_ns; }
  void Update(base::TimePoint now) { utilisation_.Update(now, busy_ns_); }

  uint64_t decoded() const { return decoded_; }
  double utilisation() const { return utilisation_.value(); }

 private:
  // Unset if the worker slot is free, or all time until now has been charged and no item is left.
  std::optional<base::TimePoint> taken_since_;
  uint64_t decoded_ = 0, busy_ns_ = 0;
  Utilisation utilisation_;
};

}  // namespace penstock::workers
