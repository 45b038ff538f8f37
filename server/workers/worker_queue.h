// One queue: the thread that brings samples to one worker, and the account of what that worker has.
// It outlives its workers: Attach gives it one, Detach takes a dead one away.
//
// Owned by the supervisor, whose thread alone calls it. A read that does not come back within
// kPatience holds up nobody: its thread is left behind with it and another takes its place, so that
// what waits behind it goes on. Once it does come back, its sample goes to the worker like any
// other. The end waits for reads in progress that were not left behind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/posix/fd.h"
#include "common/posix/loose_threads.h"
#include "server/workers/queue_reads.h"
#include "server/workers/supervisor_endpoint.h"
#include "server/workers/work.h"

namespace penstock::workers {

class WorkerQueue {
 public:
  using Options = QueueReads::Options;
  // `wake` is rung when a reader ended an item by itself. It and `loose`, which has the threads
  // that are left behind, outlive the queue; `wake` outlives those threads, too.
  WorkerQueue(const Options& options, const posix::Fd& wake, posix::LooseThreads& loose);
  ~WorkerQueue();
  // False: the system gave no thread. Such a queue is of no use.
  bool has_reader() const { return reader_.thread.joinable(); }

  void Attach(std::shared_ptr<SupervisorEndpoint> link);

  // Items given and not yet ended: all, and those that take a place: were not read aside.
  size_t held() const { return held_; }
  size_t outstanding() const { return held_ - aside_.size(); }
  void Give(const WorkItem& item);  // outstanding() < kRingCapacity
  // The same on a thread of its own, from the beginning; false: there is none to be had.
  bool GiveAside(const WorkItem& item);

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
  using Oldest = QueueReads::Oldest;
  std::optional<Oldest> OldestAtWorker() const { return reads_->OldestAtWorker(); }

  // Leaves a reader behind whose read does not come back. The items whose reads do not, each told
  // once.
  using OverdueItem = QueueReads::OverdueItem;
  std::vector<OverdueItem> TakeOverdue(base::TimePoint now);
  // What waits behind it of the same dataset ends as lost: it would not come back either.
  void HandBack(const source::Dataset& dataset) { reads_->HandBack(dataset); }
  // What was left behind takes so much of the arena that this worker must be replaced.
  bool IsCrowded() const { return reads_->IsCrowded(); }

  // The read that has taken longest, if it takes more than a second.
  std::optional<StalledRead> Stalled(base::TimePoint now) const;

 private:
  std::optional<posix::LooseThreads::Thread> StartReader(uint64_t place) const;
  void LeaveReaderBehind();
  void Forget(std::span<const Outcome> ended);

  const Options options_;
  posix::LooseThreads& loose_;
  size_t held_ = 0;
  std::set<uint64_t> aside_;                  // of these
  uint64_t place_ = 0;                        // of the reader
  std::shared_ptr<SupervisorEndpoint> link_;  // the same as the reads'
  const std::shared_ptr<QueueReads> reads_;   // with each of its threads
  posix::LooseThreads::Thread reader_;        // serves the inbox
};

}  // namespace penstock::workers
