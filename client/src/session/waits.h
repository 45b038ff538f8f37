// How long a session's consumer has waited, and since when it has hoarded batches. Taking a batch
// that is ready costs no look at the clock. Owned by the session; one thread, but Count: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "penstock/penstock.h"

namespace penstock::client {

// A number that one thread changes and others look at.
template <typename T>
class Shown {
 public:
  operator T() const { return value_.load(std::memory_order_relaxed); }
  void operator=(T value) { value_.store(value, std::memory_order_relaxed); }
  void operator+=(T more) { *this = *this + more; }

 private:
  std::atomic<T> value_{};
};

class Waits {
 public:
  void Taken() {
    if (batches_ == 0) [[unlikely]]
      began_ = base::Now() - since_taken();
    batches_ += 1;
    if (since_taken() != base::Duration::zero()) [[unlikely]]
      AddWaited();
    hoarding_since_.reset();
  }

  // So long nothing was ready.
  void Waited(base::Duration time) { since_taken_ = since_taken() + time; }
  // Since the last batch was taken.
  base::Duration since_taken() const { return since_taken_; }

  // Whether the consumer holds all that it can, as far as `now` goes; since when.
  std::optional<base::TimePoint> Hoards(bool holds_all, base::TimePoint now) {
    if (!holds_all) hoarding_since_.reset();
    if (holds_all && !hoarding_since_) hoarding_since_ = now;
    return hoarding_since_;
  }

  // What is counted here of the session's stats. While another thread takes a batch, it counts that
  // one or not.
  SessionStats Count(base::TimePoint now) const;

 private:
  void AddWaited() {
    batches_waited_for_ += 1;
    waited_ = base::Duration(waited_) + since_taken();
    since_taken_ = base::Duration::zero();
  }

  Shown<uint64_t> batches_, batches_waited_for_;
  Shown<base::TimePoint> began_;  // when the first batch was asked for
  Shown<base::Duration> waited_, since_taken_;
  std::optional<base::TimePoint> hoarding_since_;
};

}  // namespace penstock::client
