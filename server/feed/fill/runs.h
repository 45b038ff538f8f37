// The runs of rows that are being copied, from the core's task to a row copier's run and back. Such
// rows have no faults of their own: only their source can fail, and eventually the whole feed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "server/copy/row_copiers.h"
#include "server/feed/core/core.h"
#include "server/feed/fill/rows.h"
#include "server/pool/pool.h"

namespace penstock::feed {

// The fill path of a feed's rows, and the number of rows per task.
FillPath ToFillPath(const FeedSpec& spec);
uint32_t RunOf(const FeedSpec& spec);

// Writes the labels and ids of rows. That completes those that nobody fills.
void WriteNotes(const RowTask& task, const Feed& feed, const pool::SlotPlace& place);

class Runs {
 public:
  // The run for a task. While in progress, it keeps the feed alive.
  copy::RowRun Begin(const RowTask& task, std::shared_ptr<Feed> feed, const pool::SlotPlace& place,
                     bool aside = false);
  // The run's copy blocks.
  void Overdue(uint64_t run, NoteOverdueRead note);
  FillOutcome End(const copy::CopyOutcome& outcome);

  size_t in_flight() const { return in_flight_.size(); }

 private:
  struct InFlight {
    RowTask task;
    std::shared_ptr<Feed> feed;
    uint64_t sample = 0;  // the first one
    bool aside = false, overdue = false;
  };

  std::unordered_map<uint64_t, InFlight> in_flight_;
  uint64_t next_run_ = 1;
};

}  // namespace penstock::feed
