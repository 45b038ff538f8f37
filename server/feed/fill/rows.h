// The rows that workers fill, from the core's task to a worker's item and back. Knows which sample
// a row holds, decides what to do if it cannot be used, and writes its label and id.
//
// A task is a single row to decode, or a run of packed rows. In packed rows no sample is replaced:
// the first one that cannot be used fails the feed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/shares.h"
#include "common/base/status.h"
#include "server/feed/core/core.h"
#include "server/feed/core/fault_policy.h"
#include "server/feed/core/source_health.h"
#include "server/feed/fill/filler.h"
#include "server/feed/identity/fingerprint.h"
#include "server/feed/stats/flow.h"
#include "server/kept/image_shelf.h"
#include "server/kept/row_shelf.h"
#include "server/pool/pool.h"
#include "server/source/core/dataset.h"
#include "server/source/state/quarantine.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

// What all feeds over one dataset share.
// **Ownership**: shared by the catalogue and the feeds that use it.
struct DatasetState {
  std::string name;
  std::shared_ptr<const source::Dataset> dataset;  // also kept alive by items in workers' queues
  source::Quarantine quarantine;
  FaultPolicy policy;  // of users whose workers found nothing bad
  // Set if it is a mixture; shared with its feeds.
  std::shared_ptr<const plan::Mixture> mixture = {};
  // Identifies the files and their states: changes when a file does; 0: no files.
  uint64_t files = 0;
  SourceHealth source = {};
  // Of each user whose workers found something bad: what one user's worker claims must not fail
  // the feeds of another.
  std::map<uint32_t, FaultPolicy> policies = {};

  FaultPolicy& PolicyOf(uint32_t user) { return policies.try_emplace(user, policy).first->second; }
  // Feeds that ended because of too many bad samples stay ended.
  void SetFaultOptions(const FaultPolicy::Options& options) {
    policy.SetOptions(options);
    for (auto& [user, of_user] : policies) of_user.SetOptions(options);
  }
  // The quarantine was cleared.
  void ForgetBadSamples() {
    policy.Clear();
    policies.clear();
  }
};

// One feed.
// **Ownership**: shared by its sessions and its rows in progress, which may outlive them.
struct Feed {
  FeedId id;                 // keys its slots
  uint64_t fingerprint = 0;  // stored in sessions' states; says nothing about content
  FeedSpec spec;
  std::shared_ptr<DatasetState> dataset;
  std::string called = {};  // the user's name for the dataset
  absl::Status failed;      // once set, none of its rows is decoded any more
  uint64_t account = 0;     // charged when workers die over its samples; 0: the daemon
  bool canary = false;      // the daemon's own rows: not counted
  // Samples that lack a field that this feed requests; other feeds may not need it.
  std::optional<FaultPolicy> lacking = {};
  uint64_t made_bytes = 0;  // of the largest batch that a Python worker made or has room for
  FeedFlow flow = {};
  std::shared_ptr<checkpoints::CheckpointShelf> shelf = {};  // of its images; null: none
  std::shared_ptr<kept::RowShelf> kept = {};                 // its finished rows; null: none
  std::shared_ptr<kept::ImageShelf> images = {};             // its decoded images; null: none
};

class Rows {
 public:
  // Makes the item for a task. **Errors**: FailedPrecondition if so many samples are quarantined
  // that no substitute is found.
  absl::StatusOr<workers::WorkItem> Begin(const RowTask& task, std::shared_ptr<Feed> feed,
                                          const pool::SlotPlace& place, bool aside = false);
  // Where the row of an item is, if it is one that may be kept. **Requires**: it is in progress.
  struct KeptPlace {
    const pool::SlotPlace* slot = nullptr;
    uint32_t row = 0;
    uint64_t sample = 0;
    std::shared_ptr<kept::RowShelf> shelf = {};  // null: it may not be kept
  };
  KeptPlace PlaceOf(uint64_t item, const pool::Pool& pool) const;
  // The item's read blocks.
  void Overdue(uint64_t item, NoteOverdueRead note);

  // Handles the end of an item: writes label and id, judges faults.
  FillOutcome End(const workers::Outcome& outcome, const pool::Pool& pool);

  // The user's GPU failed to decode the sample: workers decode it for that user's feeds from now
  // on. Returns whether that is new; the dataset's quarantine then has a new version.
  bool RecordNotByGpu(const std::shared_ptr<DatasetState>& dataset, uint64_t sample, UserId user);

  // Stores changed quarantines: at once the first time, then at most once a second, because each
  // time writes the whole list. `at_once`: at shutdown.
  void SaveQuarantines(base::TimePoint now, bool at_once = false);

  uint64_t AccountOf(uint64_t item) const { return in_flight_.at(item).feed->account; }

  size_t in_flight() const { return in_flight_.size(); }
  // Of these, those that are read aside or for longer than expected.
  uint64_t loose() const { return loose_.held(); }
  // Blocked reads and reads aside hold threads. Whether the user may have another: up to half of
  // what others leave, and half of that for failing sources, so that something is left for healthy
  // ones.
  bool MayRead(UserId user, bool aside) const {
    const uint64_t share = loose_.ShareOf(user.value(), false);
    return loose_.HeldBy(user.value()) < (aside ? share / 2 : share);
  }
  // The user's slots with rows in progress that nobody wants any more.
  std::set<SlotId> LeftBehind(UserId user, const Core& core) const;
  uint64_t decoded() const { return decoded_; }
  uint64_t replaced() const { return replaced_; }

 private:
  struct InFlight {
    RowTask task;
    uint64_t sample = 0;
    std::shared_ptr<Feed> feed;
    bool aside = false, overdue = false;
    std::vector<uint64_t> run = {};  // all samples, for packed rows
    std::string path = {};           // of a faulty sample
  };
  static absl::Status Lacks(const InFlight& row, base::Fault fault);
  static absl::Status FindSamples(InFlight& row);
  FillOutcome Refused(const InFlight& row, base::Fault fault);
  static FillOutcome RefusedRun(const InFlight& row, base::Fault fault);
  FillOutcome Struck(const InFlight& row, base::Fault fault);
  void Record(const InFlight& row, base::Fault fault);
  // Completes the record and adds it. Returns whether it is new.
  bool Record(const std::shared_ptr<DatasetState>& dataset, source::BadSample bad);
  void Label(const InFlight& row, const pool::SlotPlace& place) const;

  std::unordered_map<uint64_t, InFlight> in_flight_;
  base::Shares loose_{workers::kMaxLoose};
  std::set<std::shared_ptr<DatasetState>> unsaved_;
  base::TimePoint saved_at_{};
  uint64_t next_item_ = 1;
  uint64_t decoded_ = 0;
  uint64_t replaced_ = 0;
};

// Part of the keys of the feed's slots: those with equal ones have the same samples, decoded by the
// same side.
uint64_t SlotVariant(const Feed& feed);

// DataLoss for the first row of a full slot that holds a sample other than the planned one. Names
// the sample that could not be used, and why. Examines the slot itself, so it doesn't matter when,
// and for which session, the row was decoded.
absl::Status StandInIn(const Feed& feed, const plan::Position& position,
                       const pool::SlotPlace& place);

// The sample for one attempt at a row. Quarantined samples are skipped, not counted as attempts.
// Nullopt after 1,000 of them in a row.
std::optional<uint64_t> SampleFor(const Feed& feed, const RowTask& task);

}  // namespace penstock::feed
