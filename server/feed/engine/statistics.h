// Where the time goes: adds up what rows, slots and consumers report for feeds, datasets and users.
// Each look (ten times a second) shows how busy each part is.
//
// **Ownership**: owns the sums of users, datasets and workers; feeds and sessions own theirs.
// **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "common/base/clock.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/fill/filler.h"
#include "server/feed/sessions/session_table.h"
#include "server/feed/stats/dataset_counts.h"
#include "server/feed/stats/rate.h"
#include "server/feed/stats/recent.h"
#include "server/feed/stats/user_counts.h"
#include "server/feed/stats/verdict.h"
#include "server/feed/stats/worker_cpu.h"
#include "server/pyworkers/hosts.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

class Statistics {
 public:
  Statistics(const Core& core, uint32_t row_copiers) : core_(core), row_copiers_(row_copiers) {}

  // ---- Events ----
  void RowsEnded(FillPath fill_path, const FillOutcome& outcome);
  // How the slot became full, the first time that a session is told of it.
  std::optional<FeedFlow::Filled> SlotFull(SessionRecord& session, const Announcement& announcement,
                                           base::TimePoint now);
  void Announced(const SessionRecord& session);
  // What a consumer wrote to its page. `released` gets the history of each batch.
  using Released = absl::FunctionRef<void(const SessionFlow::BatchTimes&)>;
  void Heard(SessionRecord& session, const exporting::BatchDelivery::Heard& heard,
             base::TimePoint now, Released released);

  // ---- Looks, several times a second ----
  struct Look {
    double workers_busy = 0;                     // over the last seconds
    double workers_lately = 0;                   // the same, over the last third of one
    std::map<Feed*, FeedFlow::Look> feeds = {};  // those with sessions
  };
  // Nullopt for the first look, or if no time has passed.
  std::optional<Look> LookAround(const SessionTable& sessions, workers::Supervisor& workers,
                                 const pyworkers::Hosts& hosts, base::TimePoint now);
  void Update(uint64_t rows_decoded, base::TimePoint now) { rate_.Update(now, rows_decoded); }
  // Adds up what feeds have counted, and forgets those that are gone.
  void Settle(const FeedBook& feeds);

  // ---- Figures ----
  // `workers`: the daemon's, or the dataset's Python workers. `stall`: of the feed's source.
  FlowFigures ToFigures(const Feed& feed, uint32_t workers,
                        const std::optional<SourceHealth::Trouble>& stall,
                        base::TimePoint now) const;
  // How busy all Python workers were over the last seconds, 0 … 1.
  double python_busy() const { return python_busy_.mean(); }
  // Fraction of the last seconds that a session's trainer slept without a batch, 0 … 1.
  double StarvedOf(uint64_t session) const;
  uint64_t rows_per_second() const { return rate_.per_second(); }
  DatasetCounts& datasets() { return dataset_counts_; }
  const DatasetCounts& datasets() const { return dataset_counts_; }
  const UserCounts& users() const { return user_counts_; }

 private:
  base::Duration TakeTrainerWait(const SessionRecord& session, uint64_t id, base::TimePoint now);
  void NoteWorkerCpu(workers::Supervisor& workers);
  FeedFlow::Look LookAtWorkers(const workers::Supervisor& workers, base::Duration since);
  void LookAtPython(const pyworkers::Hosts& hosts, base::Duration since, base::TimePoint now);
  // Returns whether the session's trainer sleeps without a batch.
  bool LookAtSession(const SessionRecord& session, const SessionView& view,
                     FeedFlow::Look& look) const;

  const Core& core_;
  const uint32_t row_copiers_;
  DatasetCounts dataset_counts_;
  UserCounts user_counts_;
  WorkerCpu worker_cpu_;
  Rate rate_;  // of samples
  base::TimePoint looked_at_{};
  std::map<uint64_t, base::TimePoint> asleep_since_;  // sessions whose consumers slept then
  base::Duration read_{}, copied_{};                  // time of readers and row copiers since then
  Recent workers_busy_, python_busy_, workers_lately_{kLately};
  // Of each Python dataset: the time that its workers had worked at the last look, and how busy
  // they were since the one before.
  struct PythonLook {
    base::Duration making{};
    double busy = 0;
  };
  std::map<pyworkers::DatasetRef, PythonLook> python_;
  std::map<uint64_t, Recent> starved_;  // by session, of those that were open at the last look
};

}  // namespace penstock::feed
