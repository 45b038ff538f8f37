// One way of filling rows: worker processes that decode, threads that copy, or nobody at all
// (FillPath). What is the same for all of them (whose rows are next, trying again, sources that do
// not answer, what the core is told) is RowDispatch's work, and written there once.
//
// **Thread safety**: the runner's thread only. No call waits.
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
  bool aside = false;  // by a thread of their own: their source is in trouble
  base::TimePoint given{};
};

enum class FillEnd {
  kDone,     // the rows are written
  kRefused,  // the sample is at fault: another one stands in for it
  kAgain,    // perhaps the sample is at fault: it is tried once more
  kLost,     // not filled, and neither sample nor source is at fault: tried again at once
  kNotRead,  // the source failed (`why`): tried again later
};

struct FillTimes {
  base::TimePoint given{}, read_begin{}, read_end{}, ended{};  // in this order
  base::Duration read{};    // of the time between read_begin and read_end
  base::Duration decode{};  // just before `ended`
};

// How rows ended. Nobody writes them any more.
struct FillOutcome {
  RowTask task;
  std::shared_ptr<Feed> feed;
  FillEnd end = FillEnd::kDone;
  Core::Cost cost = {};   // how long those who fill rows were busy with them, if it is known
  absl::Status why = {};  // of kNotRead
  absl::Status feed_failed = {};  // not OK: the whole feed fails, for this reason
  absl::Status bad_sample = {};   // not OK: a sample was replaced, for this reason
  bool quarantine_grew = false;   // the dataset's quarantine has a new version
  uint64_t sample = 0;            // of a worker's row
  uint32_t worker = 0;
  std::optional<SourceHealth::Read> read = {};  // nothing: the source was not asked
  std::optional<FillTimes> times = {};          // nothing: not worth counting
};

// Tells the core how rows ended. Of rows that could not be read it is told later: once they are
// given up, or nobody wants them any more.
void TellCore(const FillOutcome& outcome, Core& core);

// Told of a read that does not come back.
using NoteOverdueRead = absl::FunctionRef<void(const std::shared_ptr<Feed>& feed, uint64_t sample,
                                               const SourceHealth::Read& read)>;

class Filler {
 public:
  virtual ~Filler() = default;

  // How many jobs Begin takes in this pass, whoever's they are.
  virtual size_t Capacity() const { return SIZE_MAX; }
  // Whether the user may be given rows now.
  virtual Turn TurnOf(UserId) const { return Turn::kNow; }
  // Whether rows of this feed may be given out at `now`. Not asked while all sources are well and
  // HoldsBack says no.
  virtual bool MayRead(UserId user, const Feed& feed, bool aside, base::TimePoint now) const = 0;
  virtual bool HoldsBack(base::TimePoint) const { return false; }

  // Gives rows out. How they ended, if that is known at once; else Collect says so later.
  virtual std::optional<FillOutcome> Begin(FillJob job) = 0;
  // What has ended since the last call; each job once.
  virtual std::vector<FillOutcome> Collect(base::TimePoint now) = 0;
  // Those whose reads do not come back, each once. They end like all others.
  virtual void TakeOverdue(base::TimePoint now, NoteOverdueRead note) = 0;
  // Nothing more is given out in this pass.
  virtual void GivenOut(base::TimePoint) {}
};

}  // namespace penstock::feed
