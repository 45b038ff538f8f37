// Row copiers: threads ("copy0", …) that copy stored rows into slots, and the runs of rows that
// they are given.
//
// A run whose source fails ends with that error; the caller decides when to retry. A copy that
// blocks delays no other run: its thread is detached from the pool, and a new thread takes over.
//
// **Ownership**: owned by the feed's runner.
// **Thread safety**: only the runner's thread may call it. No call waits for a source, except the
// destructor, which waits for copies in progress.
//
// Invariants:
// - Each submitted run ends in exactly one outcome, unless the row copiers are destroyed first.
// - Once an outcome is collected, no thread writes the run's rows.
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

// Rows to fill. What it points to must live until the outcome is collected.
struct RowRun {
  uint64_t id = 0;                           // for the caller; not interpreted
  const source::Dataset* dataset = nullptr;  // storage() is kRows
  const source::Selection* selection = nullptr;
  std::vector<uint64_t> samples;   // one per row
  std::vector<std::byte*> blocks;  // for each block of the selection: where its rows begin
  std::byte* labels = nullptr;     // one int64 per row
  std::byte* ids = nullptr;        // one uint64 per row
  base::TimePoint given{};         // when the caller submitted it; not interpreted
  // Copied on a thread of its own, without using capacity, because its source is failing.
  bool aside = false;
};

struct CopyOutcome {
  uint64_t id = 0;
  // Not OK: the source failed. DataLoss is permanent: the stored data is wrong.
  absl::Status status;
  base::TimePoint given{};           // as in RowRun
  base::TimePoint begun{}, ended{};  // start and end of the copy
};

// Writes the labels and ids of a run, which is all there is to do for datasets without stored rows.
void WriteNotes(const RowRun& run);

class RowCopiers {
 public:
  struct Options {
    uint32_t count = 1;  // threads
  };
  explicit RowCopiers(const Options& options);
  ~RowCopiers();
  absl::Status Start();  // call it once

  // Signalled when there is something to collect. Edge-triggered: it is never drained.
  const posix::Fd& event() const { return event_; }

  // How many more runs Submit accepts now. Small, so that the earliest batch is finished first.
  size_t Capacity() const;
  void Submit(RowRun run);
  // Whether another run with `aside` may be submitted.
  bool MayReadAside() const { return loose_.CanStart(); }
  // Returns the outcomes since the last call.
  std::vector<CopyOutcome> Collect();

  // Detaches threads whose copies have blocked too long. Call it several times a second. Returns
  // the runs that are newly overdue, each once; they use no more capacity, but end like all others.
  std::vector<uint64_t> TakeOverdue(base::TimePoint now);

  // A run whose copy has taken more than a second.
  struct StalledCopy {
    uint64_t id = 0;
    base::TimePoint since;
    std::string reason = {};
  };
  std::vector<StalledCopy> Stalls(base::TimePoint now) const;

 private:
  struct InHand {
    uint64_t id = 0;
    base::TimePoint since;
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;  // the run's first sample
    uint64_t thread = 0;
    bool aside = false, reported = false;
  };

  std::optional<posix::LooseThreads::Thread> StartThread(uint64_t number);
  void SubmitAside(RowRun run);
  std::vector<InHand> NewlyOverdue(base::TimePoint now);
  bool LeaveBehind(const InHand& hand);

  // ---- Run by the threads ----
  void Work(uint64_t number);
  std::optional<RowRun> Next(uint64_t number);
  void Begin(const RowRun& run, uint64_t number) PENSTOCK_REQUIRES(mutex_);
  void CopyRun(const RowRun& run);

  const Options options_;
  posix::Fd event_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::deque<RowRun> ready_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uint64_t, InHand> in_hand_ PENSTOCK_GUARDED_BY(mutex_);  // copies in progress, by run
  std::set<uint64_t> serving_ PENSTOCK_GUARDED_BY(mutex_);          // threads that take queued runs
  std::vector<CopyOutcome> ended_ PENSTOCK_GUARDED_BY(mutex_);

  uint64_t next_thread_ = 0;
  // Declared last, because they use all members above.
  std::map<uint64_t, posix::LooseThreads::Thread> threads_;  // those that serve
  posix::LooseThreads loose_;
};

}  // namespace penstock::copy
