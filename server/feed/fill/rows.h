// The rows that are being decoded: from the core's task to a worker's item and back. Knows which
// sample a row holds, what to do when it cannot be used, and writes its label and id beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "common/base/shares.h"
#include "common/base/status.h"
#include "server/feed/core/core.h"
#include "server/feed/core/fault_policy.h"
#include "server/feed/core/source_health.h"
#include "server/feed/engine/fingerprint.h"
#include "server/feed/fill/filler.h"
#include "server/feed/stats/flow.h"
#include "server/pool/pool.h"
#include "server/source/core/dataset.h"
#include "server/source/state/quarantine.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

// What all feeds over one dataset share. Owned by the catalogue and by the feeds that use it.
struct DatasetState {
  std::string name;
  std::shared_ptr<const source::Dataset> dataset;  // also held by items in workers' lanes
  source::Quarantine quarantine;
  FaultPolicy policy;
  std::shared_ptr<const plan::Mixture> mixture = {};  // where it is one; also held by its feeds
  uint64_t files = 0;  // which files, in which state: not equal once one changed; 0: no files
  SourceHealth source = {};
};

// One feed. Shared by its sessions and by its rows in flight, which may outlive them.
struct Feed {
  FeedId id;                 // what its slots are keyed by
  uint64_t fingerprint = 0;  // what sessions keep in their states; says nothing about content
  FeedSpec spec;
  std::shared_ptr<DatasetState> dataset;
  std::string called;    // the dataset, by its user
  absl::Status failed;   // once set, none of its rows is decoded any more
  uint64_t account = 0;  // who pays for the workers that die over its samples; 0: the daemon
  bool canary = false;   // its rows are the daemon's own affair: not counted
  // Samples that lack what this feed asks for; others of the dataset may ask for less.
  std::optional<FaultPolicy> lacking = {};
  FeedFlow flow = {};
};

class Rows {
 public:
  // The item for a task; FailedPrecondition when so many samples are quarantined that none stands
  // in.
  absl::StatusOr<workers::WorkItem> Begin(const RowTask& task, std::shared_ptr<Feed> feed,
                                          const pool::SlotPlace& place, bool aside = false);
  // The item's read does not come back.
  void Overdue(uint64_t item, NoteOverdueRead note);

  // The end of an item: writes label and id, judges faults.
  FillOutcome End(const workers::Outcome& outcome, const pool::Pool& pool);

  // Has what quarantines learned since written: a first time at once, then once a second at most,
  // because each time is the whole list. `at_once`: it is the end.
  void SaveQuarantines(base::TimePoint now, bool at_once = false);

  size_t in_flight() const { return in_flight_.size(); }
  // Reads that do not come back hold threads, and so do reads aside. Whether the user may have one
  // more: half of what others leave, and half of that for sources that are in trouble, so that
  // something is left for those that are not.
  bool MayRead(UserId user, bool aside) const {
    const uint64_t share = loose_.ShareOf(user.value(), false);
    return loose_.HeldBy(user.value()) < (aside ? share / 2 : share);
  }
  // The slots of the user whose rows are under way although nobody wants them any more.
  std::set<SlotId> LeftBehind(UserId user, const Core& core) const;
  uint64_t decoded() const { return decoded_; }
  uint64_t replaced() const { return replaced_; }

 private:
  struct InFlight {
    RowTask task;
    uint64_t sample = 0;
    std::shared_ptr<Feed> feed;
    bool aside = false, overdue = false;
    std::string path = {};  // of a sample that is at fault
  };
  static absl::Status Lacks(const InFlight& row, base::Fault fault);
  FillOutcome Refused(const InFlight& row, base::Fault fault);
  FillOutcome Struck(const InFlight& row, base::Fault fault);
  void Record(const InFlight& row, base::Fault fault);
  void Label(const InFlight& row, const pool::SlotPlace& place) const;

  std::unordered_map<uint64_t, InFlight> in_flight_;
  base::Shares loose_{workers::kMaxLoose};
  std::set<std::shared_ptr<DatasetState>> unsaved_;
  base::TimePoint saved_at_{};
  uint64_t next_item_ = 1;
  uint64_t decoded_ = 0;
  uint64_t replaced_ = 0;
};

// DataLoss for the first row of a full slot that holds another sample than the plan says, with the
// sample that could not be used, and why. Looked for in the slot itself, so that it is found
// however the row came there: decoded for this session or for a neighbour, now or an hour ago.
absl::Status StandInIn(const Feed& feed, const plan::Position& position,
                       const pool::SlotPlace& place);

// The sample for one attempt at a row: attempts at quarantined samples are passed over, not
// counted. Nothing after 1,000 of them in a row.
std::optional<uint64_t> SampleFor(const Feed& feed, const RowTask& task);

}  // namespace penstock::feed
