// What a queue shares with its threads: what is to be read, what is being read, and what its worker
// has. Kept by the queue and by each of its threads, one of which may be in the kernel's hands for
// long after the queue is gone.
//
// A thread opens and reads samples into the link's arena (the only copy there is), and reads ahead
// while the worker decodes. What cannot be read ends at once: when to try again is the caller's
// business. The lock is never held across I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/posix/fd.h"
#include "server/source/core/retry_policy.h"
#include "server/workers/supervisor_endpoint.h"
#include "server/workers/work.h"

namespace penstock::workers {

class QueueReads {
 public:
  struct Options {
    uint32_t number = 0;
    decode::SampleLimits limits;
    base::Duration patience = source::kPatience;  // a read that takes longer is overdue
  };
  // `wake` is rung when an item ended without a worker; it outlives the threads.
  QueueReads(const Options& options, const posix::Fd& wake) : options_(options), wake_(wake) {}

  // What a thread does: serves the inbox while it is for that place, until the queue ends; reads
  // the one item, on a thread of its own.
  void Serve(uint64_t place);
  void ReadAside(WorkItem item);

  // The rest is for the supervisor's thread.
  void Stop();
  void Attach(std::shared_ptr<SupervisorEndpoint> link);
  void Give(const WorkItem& item);
  // What waits to be read of that dataset is lost: it goes another way.
  void HandBack(const source::Dataset& dataset);
  // An item that ReadAside is about to read, or after all is not.
  void Expect(const WorkItem& item);
  void Forget(const WorkItem& item);

  // Adds what ended, by the worker's word and without one. False: the worker wrote what cannot be.
  bool Collect(base::TimePoint now, std::vector<Outcome>& outcomes);
  // The worker is gone: what it had is lost, but for what it had in hand.
  void Detach(const Outcome& in_hand, std::vector<Outcome>& outcomes);
  struct Oldest {
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;
    base::TimePoint since;
    bool started = false;
  };
  std::optional<Oldest> OldestAtWorker() const;

  struct OverdueItem {
    uint64_t id = 0;
    const source::Dataset* dataset = nullptr;
  };
  // Items whose reads did not come back for `patience`, each told once.
  std::vector<OverdueItem> TakeOverdue(base::TimePoint now, base::Duration patience);
  // Whether the thread that serves the inbox is in such a read.
  bool IsReaderOverdue(base::TimePoint now, base::Duration patience) const;
  // The inbox is for the thread with that place. The one that had it goes on with its read alone,
  // which is of the item that this gives, if it is in one.
  std::vector<uint64_t> GiveInboxTo(uint64_t place);

  // The read that has lasted longest.
  struct Longest {
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;
    base::TimePoint since;
  };
  std::optional<Longest> LongestRead() const;
  // What is left behind leaves no room in the arena for what must go through it.
  bool IsCrowded() const;

 private:
  struct Sent {
    uint64_t sequence;
    uint64_t offset;  // in the arena
    WorkItem item;
    Times times;
  };
  // One read. In `reads_` until it ends.
  struct Read {
    WorkItem item;
    std::shared_ptr<SupervisorEndpoint> link;
    base::TimePoint begun;
    std::optional<base::TimePoint> waits_for_source;  // since then
    std::optional<uint64_t> offset;                   // in the arena
    bool aside = false, reported = false;
  };
  using ReadPlace = std::list<Read>::iterator;
  // A sample's bytes in the arena, or why there are none.
  struct Fetched {
    OutcomeKind kind = OutcomeKind::kDone;
    base::Fault fault = base::Fault::kNone;
    uint64_t offset = 0, bytes = 0;
    base::Duration held_up{};  // as Times'
  };

  std::optional<ReadPlace> NextRead(uint64_t place);
  void Bring(ReadPlace read);
  absl::StatusOr<Fetched> Fetch(ReadPlace read);
  struct ArenaRoom {
    uint64_t offset = 0;
    base::Duration held_up{};
  };
  std::optional<ArenaRoom> WaitForArena(ReadPlace read, uint64_t bytes);
  void DropInput(ReadPlace read);
  void Deliver(ReadPlace read, const Fetched& fetched);
  void End(ReadPlace read, OutcomeKind kind, base::Fault fault, absl::Status status);
  bool IsCurrent(const Read& read) const PENSTOCK_REQUIRES(mutex_);
  bool CollectCompletions(base::TimePoint now, std::vector<Outcome>& outcomes)
      PENSTOCK_REQUIRES(mutex_);
  Outcome OutcomeOf(const Sent& sent, const Completion& completion) const;

  const Options options_;
  const posix::Fd& wake_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  uint64_t place_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // of whom the inbox is for
  std::shared_ptr<SupervisorEndpoint> attached_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<WorkItem> inbox_ PENSTOCK_GUARDED_BY(mutex_);
  std::list<Read> reads_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<Sent> sent_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint oldest_since_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Outcome> ended_ PENSTOCK_GUARDED_BY(mutex_);
  bool broken_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool crowded_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::workers
