// One way of filling rows: worker processes that decode, threads that copy, Python workers that
// make whole batches, or none (FillPath).
// RowDispatch does what all of them have in common: whose rows are next, retries, failing sources,
// and telling the core.
//
// **Thread safety**: the runner's thread only. No call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/feed/core/core.h"
#include "server/feed/core/source_health.h"
#include "server/pool/pool.h"

namespace penstock::feed {

struct Feed;

// Rows to fill.
struct FillJob {
  RowTask task;
  std::shared_ptr<Feed> feed;  // kept until the rows have ended
  const pool::SlotPlace* place = nullptr;
  bool aside = false;  // on a thread of its own, because the source is failing
  base::TimePoint given{};
};

enum class FillEnd {
  kDone,     // the rows are written
  kRefused,  // the sample's fault: another one replaces it
  kAgain,    // possibly the sample's fault: tried once more
  kLost,     // not filled, through no fault of sample or source: tried again at once
  kNotRead,  // the source failed (`why`): tried again later
};

struct FillTimes {
  base::TimePoint given{}, read_begin{}, read_end{}, ended{};  // in this order
  base::Duration read{};                                       // within read_begin … read_end
  base::Duration decode{};                                     // just before `ended`
};

// How rows ended. Nobody writes to them any more.
struct FillOutcome {
  RowTask task;
  std::shared_ptr<Feed> feed;
  FillEnd end = FillEnd::kDone;
  Keep keep = Keep::kYes;         // for kDone
  Core::Cost cost = {};           // how long it occupied those who fill rows, if known
  absl::Status why = {};          // for kNotRead
  absl::Status feed_failed = {};  // not OK: the whole feed fails for this reason
  absl::Status bad_sample = {};   // not OK: a sample was replaced for this reason
  bool quarantine_grew = false;   // the dataset's quarantine has a new version
  uint64_t sample = 0;            // for a worker's row
  uint32_t worker = 0;
  std::optional<SourceHealth::Read> read = {};  // unset: the source was not used
  std::optional<FillTimes> times = {};          // unset: not to be counted
  bool kept = false;  // copied from a kept row, without using source or worker
};

// Tells the core how rows ended. Rows that could not be read are reported later, when they are
// given up or no longer wanted.
void ReportToCore(const FillOutcome& outcome, Core& core);

// Called for a read that blocks.
using NoteOverdueRead = absl::FunctionRef<void(const std::shared_ptr<Feed>& feed, uint64_t sample,
                                               const SourceHealth::Read& read)>;

class Filler {
 public:
  virtual ~Filler() = default;

  // How many jobs Begin accepts in this pass, from all users.
  virtual size_t Capacity() const { return SIZE_MAX; }
  // Whether the user may be given rows now.
  virtual Turn TurnOf(UserId) const { return Turn::kNow; }
  // Whether rows of this feed may be given out at `now`. Not called while all sources are well and
  // HoldsBack is false.
  virtual bool MayRead(UserId user, const Feed& feed, bool aside, base::TimePoint now) const = 0;
  virtual bool HoldsBack(base::TimePoint) const { return false; }

  // Gives rows out. Returns how they ended if that is known at once; otherwise Collect returns it
  // later.
  virtual std::optional<FillOutcome> Begin(FillJob job) = 0;
  // Returns what has ended since the last call; each job once.
  virtual std::vector<FillOutcome> Collect(base::TimePoint now) = 0;
  // Reports overdue reads, each once. They end like all others.
  virtual void TakeOverdue(base::TimePoint now, NoteOverdueRead note) = 0;
  // Nothing more will be given out in this pass.
  virtual void GivenOut(base::TimePoint) {}
};

}  // namespace penstock::feed
