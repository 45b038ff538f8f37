// Whether a dataset's storage answers, and so how its samples may be read now. Pure: time comes in
// as an argument. One for each dataset; one thread.
//
// While all is well, samples are read freely: by the readers and row copiers that all datasets
// share. Three failures in a row, or a read that does not come back, and no other dataset pays for
// more of it: from then on this one's samples are read aside, by threads of their own, at first one
// at a time after a pause that doubles. Each read that comes back well doubles how many there may
// be at once; one that comes back at once, while none is missing, ends the trouble.
//
// What always holds: reads aside are never more than kMostAside beside those that were left behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/back_off.h"
#include "common/base/clock.h"

namespace penstock::feed {

class SourceHealth {
 public:
  static constexpr uint32_t kFailures = 3;    // in a row
  static constexpr uint32_t kMostAside = 16;  // at once
  static constexpr base::Duration kAtOnce = std::chrono::milliseconds(50);

  enum class Reads { kFreely, kAside, kNotNow };
  Reads MayRead(base::TimePoint now) const;

  // What became of a read: how it was made, and whether it was told to be overdue.
  struct Read {
    bool aside = false;
    bool overdue = false;
    base::Duration took{};
  };
  void BegunAside() { ++aside_; }
  void Overdue(const Read& read, base::TimePoint now, std::string reason);
  void CameBack(const Read& read, base::TimePoint now);
  void Failed(const Read& read, base::TimePoint now, std::string reason);
  // It came to nothing for a reason that says nothing about the source.
  void Dropped(const Read& read) { Ended(read); }

  // Since when nothing good was heard of the source, and why; nothing: it is well.
  struct Trouble {
    base::TimePoint since;
    std::string reason;
  };
  const std::optional<Trouble>& trouble() const { return trouble_; }
  bool is_well() const { return !careful_ && aside_ == 0 && !trouble_; }

 private:
  void Ended(const Read& read);
  void PauseFrom(base::TimePoint now, const base::BackOff::Options& back_off);

  bool careful_ = false;
  uint32_t failures_ = 0;  // in a row
  uint32_t aside_ = 0;     // under way, overdue ones among them
  uint32_t overdue_ = 0;   // under way
  uint32_t at_once_ = 1;   // that may be under way besides the overdue ones, while careful
  base::Duration pause_{};
  base::TimePoint again_{};  // not before then, while careful
  std::optional<Trouble> trouble_;
};

}  // namespace penstock::feed
