// Decides which rows are read next and handles those that cannot be read, for all fill paths. It
// asks the core for rows, gives them to the fill path's Filler, and tells the core how they ended.
// It holds rows whose source failed until their next attempt, and fails a feed whose rows could not
// be read for too long.
//
// **Ownership**: owns the held rows, and knows which datasets' sources are failing. Rows that are
// being filled belong to their Filler. **Thread safety**: the runner's thread only. Pure except for
// logging: time is an argument.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/fill/filler.h"
#include "server/feed/fill/held_rows.h"
#include "server/feed/fill/use_plan.h"
#include "server/pool/pool.h"

namespace penstock::feed {

struct DatasetState;

class RowDispatch {
 public:
  // Called immediately.
  struct Events {
    std::function<void(FillPath, const FillOutcome&)> ended;  // after the core was told
    std::function<void(const DatasetState&)> quarantine_grew;
    std::function<void(const Feed&, const absl::Status&)> feed_failed;  // once for each feed
  };
  using Fillers = std::array<Filler*, kFillPaths>;  // by FillPath

  // `retry_for`: how long a source may fail.
  RowDispatch(base::Duration retry_for, Core& core, const pool::Pool& pool, FeedBook& feeds,
              const Fillers& fillers, Events events);

  // Handles what has ended. Returns whether there was anything, and advances `now` to the latest
  // end, because what follows from it happens later.
  bool Collect(FillPath fill_path, base::TimePoint& now);
  // Gives out as many rows as the fill paths accept now. Returns whether there were any.
  bool GiveOut(base::TimePoint now);
  // Several times a second: handles overdue reads and rows that nobody wants any more.
  void Tick(base::TimePoint now);

  // The longest time for which reads of the feed's source have failed or blocked. Its reason names
  // only samples that the feed's own user reads. Nullopt if there is no problem that delays this
  // feed, or for less than a second.
  std::optional<SourceHealth::Trouble> StallOf(const Feed& feed, base::TimePoint now) const;
  const HeldRows& held() const { return held_; }

 private:
  struct Next {
    RowTask task;
    std::shared_ptr<Feed> feed;
  };
  Filler& FillerOf(FillPath fill_path) { return *fillers_[static_cast<size_t>(fill_path)]; }
  bool GiveOut(FillPath fill_path, base::TimePoint now);
  void Begin(FillPath fill_path, const Next& next, base::TimePoint now);
  std::optional<Next> NextToRead(FillPath fill_path, base::TimePoint now);
  void ExpectAhead();
  void Expect(const Feed& feed, const plan::Position& position);
  void SayUses(const Feed& feed, uint64_t most);
  bool MayRead(const Filler& filler, UserId user, const Feed& feed, base::TimePoint now) const;

  void End(FillPath fill_path, const FillOutcome& outcome, base::TimePoint now);
  void NoteRead(const FillOutcome& outcome, base::TimePoint now);
  void ReadFailed(const FillOutcome& outcome, base::TimePoint now);
  void TryAgainOrFail(const FillOutcome& outcome, RowTask task, base::TimePoint now);
  void NoteTrouble(const Feed& feed, uint64_t sample, const std::string& reason);
  void Fail(const std::shared_ptr<Feed>& feed, const absl::Status& why);
  void NoteOverdue(base::TimePoint now);
  std::optional<SourceHealth::Trouble> FindTrouble(const Feed& feed, base::TimePoint now) const;

  const base::Duration retry_for_;
  Core& core_;
  const pool::Pool& pool_;
  FeedBook& feeds_;
  const Fillers fillers_;
  const Events events_;
  HeldRows held_;
  UsePlan uses_;
  std::set<std::shared_ptr<DatasetState>> troubled_;  // datasets whose source is failing
};

}  // namespace penstock::feed
