// A queue of samples for one worker: the thread that reads them, and the record of what the worker
// has. The queue outlives its workers: Attach adds one, Detach removes a dead one.
//
// A read that takes longer than kPatience holds up nobody: its thread is detached, and a new thread
// serves the rest of the queue. When the read ends, its sample goes to the worker as usual.
//
// **Ownership**: owned by the supervisor, whose thread alone calls it. The destructor waits for
// reads in progress, except in detached threads.
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
#include "server/workers/queue/queue_reads.h"
#include "server/workers/queue/supervisor_endpoint.h"
#include "server/workers/work.h"

namespace penstock::workers {

class WorkerQueue {
 public:
  using Options = QueueReads::Options;
  // `wake` is signalled when a reader ended an item itself. `loose` holds detached threads.
  // **Requires**: both outlive the queue, and `wake` outlives those threads too.
  WorkerQueue(const Options& options, const posix::Fd& wake, posix::LooseThreads& loose);
  ~WorkerQueue();
  // False if no thread could be started; the queue is then unusable.
  bool has_reader() const { return reader_.thread.joinable(); }

  void Attach(std::shared_ptr<SupervisorEndpoint> endpoint);

  // Items that have not ended: held() counts all of them; outstanding() only those that use
  // headroom, which items read with `aside` don't.
  size_t held() const { return held_; }
  size_t outstanding() const { return held_ - aside_.size(); }
  void Give(const WorkItem& item);  // **Requires**: outstanding() < kRingCapacity
  // Reads the item on a thread of its own. False if no thread can be started.
  bool GiveAside(const WorkItem& item);

  // Appends the current outcomes. False if the worker wrote something invalid: kill it.
  bool Collect(base::TimePoint now, std::vector<Outcome>& outcomes);
  // The next completion will signal the channel's event. Call Collect again for completions that
  // came just before.
  void AnnounceSleep();

  // How the current sample ends if its worker is gone: kLost, or kStrike with its fault.
  struct InHandEnds {
    OutcomeKind kind = OutcomeKind::kLost;
    base::Fault fault = base::Fault::kNone;
  };
  // **Requires**: the worker is dead and reaped, and its completions are collected. Its other items
  // are lost; an item that is being read ends when its read does.
  void Detach(InHandEnds ends, std::vector<Outcome>& outcomes);

  // The worker's oldest item, and since when it has been the oldest. If not started, it is still in
  // the ring.
  using Oldest = QueueReads::Oldest;
  std::optional<Oldest> OldestAtWorker() const { return reads_->OldestAtWorker(); }

  // Detaches a reader whose read is overdue. Returns the overdue items, each once.
  using OverdueItem = QueueReads::OverdueItem;
  std::vector<OverdueItem> TakeOverdue(base::TimePoint now);
  // Ends unread items of the same dataset as lost, because their reads would block too.
  void HandBack(const source::Dataset& dataset) { reads_->HandBack(dataset); }
  // Whether blocked reads occupy so much of the arena that this worker must be replaced.
  bool IsCrowded() const { return reads_->IsCrowded(); }

  // The longest current read, if it has taken more than a second.
  std::optional<StalledRead> Stalled(base::TimePoint now) const;

 private:
  std::optional<posix::LooseThreads::Thread> StartReader(uint64_t place) const;
  void LeaveReaderBehind();
  void Forget(std::span<const Outcome> ended);

  const Options options_;
  posix::LooseThreads& loose_;
  size_t held_ = 0;
  std::set<uint64_t> aside_;                      // those with `aside`
  uint64_t place_ = 0;                            // identifies the current reader
  std::shared_ptr<SupervisorEndpoint> endpoint_;  // the same as in `reads_`
  const std::shared_ptr<QueueReads> reads_;       // shared with each of its threads
  posix::LooseThreads::Thread reader_;            // serves the inbox
};

}  // namespace penstock::workers
