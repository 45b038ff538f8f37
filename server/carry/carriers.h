// The carriers' threads ("carry0", …), and the runs of rows that they are given.
//
// Owned by the feed's runner, whose thread alone calls it. No call waits for a source, but the end
// of the object, which waits for copies in progress. A run whose source fails is put aside and
// tried again later, so that it holds up no other; while its thread is in the kernel, nobody can
// help it.
//
// What always holds:
//  - Each submitted run ends in exactly one outcome, unless the carriers end first.
//  - Nobody writes a run's rows any more when its outcome is collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/dataset.h"

namespace penstock::carry {

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
};

struct Outcome {
  uint64_t id = 0;
  // Not OK: the source failed for the whole of `retry_for`, or, by DataLoss, what it holds is
  // wrong.
  absl::Status status;
  base::TimePoint given{};           // as the run says
  base::TimePoint begun{}, ended{};  // of its copy; what failed before counts as a part of it
};

// Writes the labels and ids of a run: all that there is to do where nothing is stored.
void WriteNotes(const Run& run);

class Carriers {
 public:
  struct Options {
    uint32_t count = 1;  // threads
    base::Duration retry_for = std::chrono::seconds(60);
  };
  explicit Carriers(const Options& options);
  ~Carriers();
  absl::Status Start();  // once

  // Rung when there is something to collect. Edges count: it is never drained.
  const posix::Fd& event() const { return event_; }

  // How many more runs Submit takes now: few, so that the earliest batch is finished first.
  size_t Capacity() const;
  void Submit(Run run);
  // What ended since the last call.
  std::vector<Outcome> Collect();

  // Runs whose source fails and is tried again, or whose copy takes more than a second.
  struct Stall {
    uint64_t id = 0;
    base::TimePoint since;
    std::string reason;
  };
  std::vector<Stall> Stalls(base::TimePoint now) const;

 private:
  struct Job {
    Run run;
    uint32_t failures = 0;
    base::TimePoint failing_since{};
    base::TimePoint again{};  // when it is tried next
    std::string reason;
  };
  struct InHand {
    uint64_t id = 0;
    base::TimePoint since;
    std::string path;
  };

  void Work(uint32_t number);
  std::optional<Job> Next(uint32_t number);
  bool TakeDue(base::TimePoint now) PENSTOCK_REQUIRES(mutex_);
  void PutDown(Job job, uint32_t number, const absl::Status& copied);

  const Options options_;
  posix::Fd event_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::deque<Job> ready_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Job> aside_ PENSTOCK_GUARDED_BY(mutex_);  // failed, and not due yet
  std::vector<std::optional<InHand>> in_hand_ PENSTOCK_GUARDED_BY(mutex_);  // by thread
  std::vector<Outcome> ended_ PENSTOCK_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace penstock::carry
