// What a worker slot did: rows, the share of its time that it was busy, and for how long what it
// was given took it. Pure; the caller passes the time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/base/clock.h"
#include "server/workers/work.h"

namespace penstock::workers {

// The share of time spent on samples, in steps of at least a second.
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
  double value_ = 0;
};

class SlotMeter {
 public:
  // An item takes the worker slot, unless others have taken it already.
  void Take(base::TimePoint now) {
    if (!taken_since_) taken_since_ = now;
  }
  // Nothing is left that takes it.
  void Free() { taken_since_.reset(); }

  // Writes into the outcomes what they cost: the time for which the worker slot was taken, charged
  // to the first of them. Returns what each cost on average. **Requires**: there is one.
  base::Duration Charge(std::span<Outcome> outcomes, base::TimePoint now);

  // `claimed_ns`: the time that the worker says it spent on samples since the last call.
  void AddBusy(uint64_t claimed_ns) { busy_ns_ += claimed_ns; }
  void Update(base::TimePoint now) { utilisation_.Update(now, busy_ns_); }

  uint64_t decoded() const { return decoded_; }
  double utilisation() const { return utilisation_.value(); }

 private:
  // Nothing: the worker slot is free, or all of the time until now has been charged and nothing is
  // given.
  std::optional<base::TimePoint> taken_since_;
  uint64_t decoded_ = 0, busy_ns_ = 0;
  Utilisation utilisation_;
};

}  // namespace penstock::workers
