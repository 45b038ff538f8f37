// The row copiers' threads ("carry0", …), and the runs of rows that they are given.
//
// Owned by the feed's runner, whose thread alone calls it. No call waits for a source, but the end
// of the object, which waits for copies in progress. A run whose source fails ends: when to try
// again is the caller's business. A copy that does not come back holds up no other: its thread is
// left behind with it, and another takes its place.
//
// What always holds:
//  - Each submitted run ends in exactly one outcome, unless the row copiers end first.
//  - Nobody writes a run's rows any more when its outcome is collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/loose_threads.h"
#include "server/source/core/dataset.h"

namespace penstock::copy {

// Rows to fill. What it points at lives until the outcome is collected.
struct Run {
  uint64_t id = 0;                           // the caller's; not looked at
  const source::Dataset* dataset = nullptr;  // whose rows are stored
  const source::Selection* selection = nullptr;
  std::vector<uint64_t> samples;   // one a row
  std::vector<std::byte*> blocks;  // of the selection: where their rows begin
  std::byte* labels = nullptr;     // int64 each
  std::byte* ids = nullptr;        // uint64 each
  base::TimePoint given{};         // when the caller gave it; not looked at
  // Copied by a thread of its own: its source is in trouble, and it takes nobody's place.
  bool aside = false;
};

struct Outcome {
  uint64_t id = 0;
  // Not OK: the source failed, or, by DataLoss, what it holds is wrong and stays so.
  absl::Status status;
  base::TimePoint given{};           // as the run says
  base::TimePoint begun{}, ended{};  // of its copy
};

// Writes the labels and ids of a run: all that there is to do where nothing is stored.
void WriteNotes(const Run& run);

class RowCopiers {
 public:
  struct Options {
    uint32_t count = 1;  // threads
  };
  explicit RowCopiers(const Options& options);
  ~RowCopiers();
  absl::Status Start();  // once

  // Rung when there is something to collect. Edges count: it is never drained.
  const posix::Fd& event() const { return event_; }

  // How many more runs Submit takes now: few, so that the earliest batch is finished first.
  size_t Capacity() const;
  void Submit(Run run);
  // Whether one more may be copied aside.
  bool MayReadAside() const { return loose_.CanStart(); }
  // What ended since the last call.
  std::vector<Outcome> Collect();

  // Leaves threads behind whose copies do not come back; several times a second. The runs whose
  // copies do not, each told once: they take no place any more, and end like all others.
  std::vector<uint64_t> TakeOverdue(base::TimePoint now);

  // Runs whose copy takes more than a second.
  struct Stall {
    uint64_t id = 0;
    base::TimePoint since;
    std::string reason;
  };
  std::vector<Stall> Stalls(base::TimePoint now) const;

 private:
  struct InHand {
    uint64_t id = 0;
    base::TimePoint since;
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;  // the first
    uint64_t thread = 0;
    bool aside = false, reported = false;
  };

  std::optional<posix::LooseThreads::Thread> StartThread(uint64_t number);
  void SubmitAside(Run run);
  std::vector<InHand> NewlyOverdue(base::TimePoint now);
  bool LeaveBehind(const InHand& hand);

  // The threads.
  void Work(uint64_t number);
  std::optional<Run> Next(uint64_t number);
  void Begin(const Run& run, uint64_t number) PENSTOCK_REQUIRES(mutex_);
  void Carry(const Run& run);

  const Options options_;
  posix::Fd event_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::deque<Run> ready_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uint64_t, InHand> in_hand_ PENSTOCK_GUARDED_BY(mutex_);  // by run
  std::set<uint64_t> serving_ PENSTOCK_GUARDED_BY(mutex_);  // the threads that take what is ready
  std::vector<Outcome> ended_ PENSTOCK_GUARDED_BY(mutex_);

  uint64_t next_thread_ = 0;
  // Last: they use all of the above.
  std::map<uint64_t, posix::LooseThreads::Thread> threads_;  // those that serve
  posix::LooseThreads loose_;
};

}  // namespace penstock::copy
