// One lane: the reader thread that brings samples to one worker, and the account of what that
// worker has. It outlives its workers: Attach gives it one, Detach takes a dead one away.
//
// Owned by the supervisor, whose thread alone calls it. The reader thread opens and reads samples
// into the link's arena (the only copy there is), reads ahead while the worker decodes, and tries
// again when the source is in trouble. The lock is never held across I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/posix/fd.h"
#include "server/workers/link.h"
#include "server/workers/work.h"

namespace penstock::workers {

class Lane {
 public:
  struct Options {
    uint32_t number = 0;
    base::Duration retry_for{};  // how long to try again when the source fails
    decode::Limits limits;
  };
  // `wake` is rung when the reader ended an item by itself; it outlives the lane.
  Lane(const Options& options, const posix::Fd& wake);
  // Waits for a read in progress, however long that takes: nobody can call it back. The daemon's
  // end has a limit (server/app/end_limit.h).
  ~Lane();

  void Attach(std::shared_ptr<Link> link);

  // Items given and not yet ended.
  size_t outstanding() const { return outstanding_; }
  void Give(const WorkItem& item);  // outstanding() < kRingCapacity

  // Adds the outcomes that there are now. False: the worker wrote what cannot be; kill it.
  bool Collect(base::TimePoint now, std::vector<Outcome>& outcomes);

  // The next completion rings the link's event. What came just before is for another Collect.
  void AnnounceSleep();

  // How the sample in hand ends when its worker is gone: kLost or kStrike with its fault.
  struct InHandEnds {
    OutcomeKind kind = OutcomeKind::kLost;
    base::Fault fault = base::Fault::kNone;
  };
  // The worker is dead and reaped, and its completions are collected. Its other items are lost; one
  // that is being read ends when its reading does.
  void Detach(InHandEnds ends, std::vector<Outcome>& outcomes);

  // The oldest item that the worker has, and since when it is that. Not started: still in the ring.
  struct Oldest {
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;
    base::TimePoint since;
    bool started = false;
  };
  std::optional<Oldest> OldestAtWorker() const;

  // The source, for this lane: it fails and is tried again, or a read takes more than a second.
  struct Stall {
    base::TimePoint since;
    std::string reason;
    const source::Dataset* dataset = nullptr;
  };
  std::optional<Stall> Stalled(base::TimePoint now) const;

 private:
  struct Sent {
    uint64_t sequence;
    WorkItem item;
    Times times;
  };
  struct Job {
    WorkItem item;
    std::shared_ptr<Link> link;
    base::TimePoint begun;
  };
  // What the reader reads, and since when it has waited for the source.
  struct Reading {
    const source::Dataset* dataset;
    uint64_t sample;
    base::TimePoint since;
  };
  // A sample's bytes in the arena, or why there are none.
  struct Fetched {
    OutcomeKind kind = OutcomeKind::kDone;
    base::Fault fault = base::Fault::kNone;
    uint64_t offset = 0, bytes = 0;
    base::Duration held_up{};  // as Times'
  };

  Outcome OutcomeOf(const Sent& sent, const Completion& completion) const;
  bool CollectCompletions(base::TimePoint now, std::vector<Outcome>& outcomes);

  // Reader thread (lane_reader.cc).
  void Run();
  std::optional<Job> NextJob();
  void Bring(const Job& job);
  absl::StatusOr<Fetched> Fetch(const Job& job);
  struct Room {
    uint64_t offset = 0;
    base::Duration held_up{};
  };
  std::optional<Room> WaitForInput(const Job& job, uint64_t bytes);
  void DropInput(const Job& job);
  bool Pause(const Job& job, Stall stall, base::Duration wait);  // false: all for nothing
  void GiveUp(const Job& job, const absl::Status& trouble);
  void Deliver(const Job& job, const Fetched& fetched);
  void End(const Job& job, OutcomeKind kind, base::Fault fault, absl::Status status);
  bool Current(const Job& job) const PENSTOCK_REQUIRES(mutex_);

  const Options options_;
  const posix::Fd& wake_;

  size_t outstanding_ = 0;      // supervisor's thread
  std::shared_ptr<Link> link_;  // supervisor's thread; the same as attached_

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Link> attached_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<WorkItem> inbox_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<Sent> sent_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint oldest_since_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Outcome> ended_ PENSTOCK_GUARDED_BY(mutex_);
  std::optional<Stall> stall_ PENSTOCK_GUARDED_BY(mutex_);
  std::optional<Reading> reading_ PENSTOCK_GUARDED_BY(mutex_);
  bool broken_ PENSTOCK_GUARDED_BY(mutex_) = false;

  std::thread reader_;  // last: it uses all of the above
};

}  // namespace penstock::workers
