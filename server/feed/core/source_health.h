// Whether a dataset's storage responds, and how the dataset may be read meanwhile. Pure: time is an
// argument. One for each dataset.
//
// While all is well, samples are read by the readers and row copiers that all datasets share. After
// three consecutive failures, or a read that blocks, other datasets must not suffer from more of
// them. So this dataset's samples are then read aside, by separate threads: at first one at a time,
// after a pause that doubles. Each successful read doubles the number of concurrent reads. A read
// that succeeds within kAtOnce, while none is blocked, ends this mode.
//
// Invariant: there are never more than kMostAside reads aside, plus those already blocked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/back_off.h"
#include "common/base/clock.h"

namespace penstock::feed {

class SourceHealth {
 public:
  static constexpr uint32_t kFailures = 3;    // consecutive
  static constexpr uint32_t kMostAside = 16;  // concurrent
  static constexpr base::Duration kAtOnce = std::chrono::milliseconds(50);

  enum class Reads { kFreely, kAside, kNotNow };
  Reads MayRead(base::TimePoint now) const;

  // How a read was made, and whether it was reported overdue.
  struct Read {
    bool aside = false;
    bool overdue = false;
    base::Duration took{};
  };
  void BegunAside() { ++aside_; }
  // `user`: for whom it reads. The reason of a trouble may name a sample of this user.
  void Overdue(const Read& read, base::TimePoint now, std::string reason, uint32_t user);
  void CameBack(const Read& read, base::TimePoint now);
  void Failed(const Read& read, base::TimePoint now, std::string reason, uint32_t user);
  // The read ended in a way that says nothing about the source.
  void Dropped(const Read& read) { Ended(read); }

  // Since when the source has not responded, and why; nullopt: it is well. A failure long after the
  // last one, while nobody wanted to read, is a trouble of its own.
  struct Trouble {
    base::TimePoint since;
    std::string reason;
    uint32_t user = 0;  // whose read gave the reason
  };
  const std::optional<Trouble>& trouble() const { return trouble_; }
  bool is_well() const { return !careful_ && aside_ == 0 && !trouble_; }

 private:
  void Ended(const Read& read);
  bool IsAnotherTrouble(const Read& read, base::TimePoint now) const;
  void PauseFrom(base::TimePoint now, const base::BackOff::Options& back_off);

  bool careful_ = false;
  uint32_t failures_ = 0;  // consecutive
  uint32_t aside_ = 0;     // in progress, including overdue ones
  uint32_t overdue_ = 0;   // in progress
  uint32_t at_once_ = 1;   // while careful: how many may be in progress, not counting overdue ones
  base::Duration pause_{};
  base::TimePoint again_{};  // while careful: not before this time
  base::TimePoint last_failure_{};
  std::optional<Trouble> trouble_;
};

}  // namespace penstock::feed
