// The runs of rows that are being carried: from the core's task to a carrier's run and back. Such
// rows have no faults of their own: what fails is their source, and then the whole feed does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "server/carry/carriers.h"
#include "server/feed/core.h"
#include "server/feed/rows.h"
#include "server/pool/pool.h"

namespace penstock::feed {

// By which road a feed's rows come, and how many rows a task of it may have.
Road RoadOf(const FeedSpec& spec);
uint32_t RunOf(const FeedSpec& spec);

class Runs {
 public:
  // What to carry for a task. The run in flight keeps the feed alive.
  carry::Run Begin(const RowTask& task, std::shared_ptr<Feed> feed, const pool::SlotPlace& place);
  // The end of a run: tells the core. Of what happened, only the feed's failure is of a run.
  RowTrouble End(const carry::Outcome& outcome, Core& core);

  // Labels and ids of rows that nobody fills: the task is done with that.
  void Note(const RowTask& task, const Feed& feed, const pool::SlotPlace& place, Core& core);

  size_t in_flight() const { return in_flight_.size(); }
  // Whose run it is; null: nobody's.
  const Feed* FeedOf(uint64_t run) const;

 private:
  struct InFlight {
    RowTask task;
    std::shared_ptr<Feed> feed;
  };

  std::unordered_map<uint64_t, InFlight> in_flight_;
  uint64_t next_run_ = 1;
};

}  // namespace penstock::feed
