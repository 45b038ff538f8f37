// The batches that Python workers make, from the core's task to a worker's item and back. Knows how
// much memory a batch may have, and what follows when a worker dies over one.
//
// A task is a whole batch. Its samples' ids are written into the slot before a worker gets it; they
// are the worker's list of what to make. If bad samples are replaced, quarantined ones are not on
// it.
//
// **Ownership**: owns what is known of the batches in progress. **Thread safety**: the runner's
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/feed/core/core.h"
#include "server/feed/fill/filler.h"
#include "server/feed/fill/rows.h"
#include "server/pool/pool.h"
#include "server/pyworkers/make_item.h"

namespace penstock::feed {

class MadeBatches {
 public:
  explicit MadeBatches(pool::Pool& pool) : pool_(pool) {}

  // The item for a task. While it is in progress, it keeps the feed alive.
  //
  // **Errors**: ResourceExhausted if the pool has no memory even for an error; DataLoss if so many
  // samples are quarantined that no substitute is found. Then it is not in progress.
  absl::StatusOr<pyworkers::MakeItem> Begin(const FillJob& job);
  // How many bytes a batch in progress may have from now on: at least what it needs, if the feed
  // and the pool allow that, else as many as before.
  uint64_t Grant(const pyworkers::RoomNeed& need);
  FillOutcome End(const pyworkers::MakeResult& result);

  size_t in_flight() const { return in_flight_.size(); }
  uint64_t made() const { return made_; }        // batches so far
  uint64_t samples() const { return samples_; }  // in them
  uint64_t raised() const { return raised_; }    // exceptions that were delivered so far
  // The sample of a row of an item in progress; of its first row, if there is no such row. Nullopt:
  // it is not of this feed, or not in progress.
  std::optional<uint64_t> SampleOf(const Feed& feed, uint64_t item,
                                   const std::optional<uint32_t>& row) const;
  // The user's slots with batches in progress that nobody wants any more.
  std::set<SlotId> LeftBehind(UserId user, const Core& core) const;

 private:
  struct InFlight {
    RowTask task;
    std::shared_ptr<Feed> feed;
    std::vector<uint64_t> samples = {};  // of its rows, if bad ones are replaced
  };
  // A batch over which workers died.
  struct Struck {
    uint64_t generation = 0;
    uint32_t deaths = 0;
  };
  absl::Status GrantFirst(const FillJob& job);
  absl::Status GrantEither(uint32_t slot, uint64_t likely, uint64_t least);
  absl::Status GrantMore(const pyworkers::RoomNeed& need, const InFlight& batch, uint64_t most);
  static absl::Status Replace(const FillJob& job, std::vector<uint64_t>& samples);
  uint32_t DeathsOver(const RowTask& task) const;
  static FillOutcome Quarantine(const InFlight& batch, uint32_t row, base::Fault fault,
                                const std::string& how);
  FillOutcome Died(const InFlight& batch, const pyworkers::MakeResult& result);

  pool::Pool& pool_;
  std::unordered_map<uint64_t, InFlight> in_flight_;
  std::map<SlotId, Struck> struck_;  // at most one for each slot
  uint64_t next_item_ = 1;
  uint64_t made_ = 0, samples_ = 0, raised_ = 0;
};

}  // namespace penstock::feed
