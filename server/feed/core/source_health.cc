#include "server/feed/core/source_health.h"

#include <algorithm>
#include <utility>

namespace penstock::feed {
namespace {

// A failure costs next to nothing; a read that blocks costs a thread.
constexpr base::BackOff::Options kAfterFailure = {.first = std::chrono::milliseconds(10),
                                                  .longest = std::chrono::seconds(1)};
constexpr base::BackOff::Options kAfterOverdue = {.first = std::chrono::seconds(1),
                                                  .longest = std::chrono::seconds(30)};
// Rows that failed are read again after a second at most, so after this time nobody wants any.
constexpr base::Duration kUnused = std::chrono::seconds(5);

}  // namespace

SourceHealth::Reads SourceHealth::MayRead(base::TimePoint now) const {
  if (!careful_) return Reads::kFreely;
  if (now < again_ || aside_ >= kMostAside || aside_ - overdue_ >= at_once_) return Reads::kNotNow;
  return Reads::kAside;
}

// A read that did not begin aside counts as aside from now on.
void SourceHealth::Overdue(const Read& read, base::TimePoint now, std::string reason,
                           uint32_t user) {
  if (!read.aside) ++aside_;
  ++overdue_;
  careful_ = true;
  if (!trouble_) trouble_ = {now - read.took, std::move(reason), user};
  PauseFrom(now, kAfterOverdue);
}

void SourceHealth::CameBack(const Read& read, base::TimePoint now) {
  Ended(read);
  failures_ = 0;
  pause_ = {};
  again_ = now;
  if (overdue_ > 0) {
    at_once_ = std::min(2 * at_once_, kMostAside);
    return;
  }
  trouble_.reset();
  if (read.took < kAtOnce) careful_ = false;
  at_once_ = careful_ ? std::min(2 * at_once_, kMostAside) : 1;
}

void SourceHealth::Failed(const Read& read, base::TimePoint now, std::string reason,
                          uint32_t user) {
  Ended(read);
  ++failures_;
  if (!trouble_ || IsAnotherTrouble(read, now)) trouble_ = {now, {}};
  last_failure_ = now;
  trouble_->reason = std::move(reason);
  trouble_->user = user;
  if (failures_ >= kFailures) careful_ = true;
  if (careful_) PauseFrom(now, kAfterFailure);
}

// Whether nothing was read for a while, although it was allowed, before this read began.
bool SourceHealth::IsAnotherTrouble(const Read& read, base::TimePoint now) const {
  const base::TimePoint allowed = std::max(last_failure_, again_);
  return overdue_ == 0 && now - read.took > allowed + kUnused;
}

void SourceHealth::Ended(const Read& read) {
  if (read.aside || read.overdue) --aside_;
  if (read.overdue) --overdue_;
}

// Several failures at the same time cause one pause.
void SourceHealth::PauseFrom(base::TimePoint now, const base::BackOff::Options& back_off) {
  at_once_ = 1;
  if (now < again_) return;
  pause_ = base::BackOff::After(pause_, back_off);
  again_ = now + pause_;
}

}  // namespace penstock::feed
