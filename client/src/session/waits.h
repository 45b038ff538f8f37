// How long a session's consumer has waited, and since when it has held all its batches. Taking a
// batch that is ready does not read the clock.
//
// **Ownership**: the session.
// **Thread safety**: one thread, except Count (any).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "penstock/penstock.h"

namespace penstock::client {

// A number that one thread changes and others read.
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

  // Records that nothing was ready for this long.
  void Waited(base::Duration time) { since_taken_ = since_taken() + time; }
  // Time waited since the last batch was taken.
  base::Duration since_taken() const { return since_taken_; }

  // Records whether the consumer holds all the batches that it can at `now`, and returns since
  // when.
  std::optional<base::TimePoint> Hoards(bool holds_all, base::TimePoint now) {
    if (!holds_all) hoarding_since_.reset();
    if (holds_all && !hoarding_since_) hoarding_since_ = now;
    return hoarding_since_;
  }

  base::Duration waited() const { return base::Duration(waited_) + since_taken(); }

  // The client's own part of SessionStats. A batch that another thread is taking may be counted or
  // not.
  SessionStats Count(base::TimePoint now) const;

 private:
  void AddWaited() {
    batches_waited_for_ += 1;
    waited_ = base::Duration(waited_) + since_taken();
    since_taken_ = base::Duration::zero();
  }

  Shown<uint64_t> batches_, batches_waited_for_;
  Shown<base::TimePoint> began_;  // when the first batch was requested
  Shown<base::Duration> waited_, since_taken_;
  std::optional<base::TimePoint> hoarding_since_;
};

}  // namespace penstock::client
