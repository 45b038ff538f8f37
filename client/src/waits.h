// How long a session's consumer has waited, and since when it has hoarded batches. Taking a batch
// that is ready costs no look at the clock. One thread; owned by the session.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/clock.h"
#include "penstock/penstock.h"

namespace penstock::client {

class Waits {
 public:
  void Taken() {
    if (batches_ == 0) [[unlikely]]
      began_ = base::Now() - since_taken_;
    ++batches_;
    if (since_taken_ != base::Duration::zero()) [[unlikely]]
      AddWaited();
    hoarding_since_.reset();
  }

  // So long nothing was ready.
  void Waited(base::Duration time) { since_taken_ += time; }
  // Since the last batch was taken.
  base::Duration since_taken() const { return since_taken_; }

  // Whether the consumer holds all that it can, as far as `now` goes; since when.
  std::optional<base::TimePoint> Hoards(bool holds_all, base::TimePoint now) {
    if (!holds_all) hoarding_since_.reset();
    if (holds_all && !hoarding_since_) hoarding_since_ = now;
    return hoarding_since_;
  }

  // What is counted here of the session's stats.
  SessionStats Count(base::TimePoint now) const;

 private:
  void AddWaited() {
    ++batches_waited_for_;
    waited_ += since_taken_;
    since_taken_ = base::Duration::zero();
  }

  uint64_t batches_ = 0, batches_waited_for_ = 0;
  base::TimePoint began_{};  // when the first batch was asked for
  base::Duration waited_{}, since_taken_{};
  std::optional<base::TimePoint> hoarding_since_;
};

}  // namespace penstock::client
