// The fill path of rows that nobody fills, because the consumer generates them: only writes their
// labels and ids, immediately.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "server/feed/fill/filler.h"
#include "server/feed/fill/runs.h"

namespace penstock::feed {

class NobodyFiller final : public Filler {
 public:
  // Such batches cost a few microseconds each; handle other events in between.
  static constexpr size_t kInAPass = 64;

  size_t Capacity() const override { return kInAPass; }
  bool MayRead(UserId, const Feed&, bool, base::TimePoint) const override { return true; }
  std::optional<FillOutcome> Begin(FillJob job) override {
    WriteNotes(job.task, *job.feed, *job.place);
    return FillOutcome{
        .task = job.task, .feed = std::move(job.feed), .cost = base::Duration::zero()};
  }
  std::vector<FillOutcome> Collect(base::TimePoint) override { return {}; }
  void TakeOverdue(base::TimePoint, NoteOverdueRead) override {}
};

}  // namespace penstock::feed
