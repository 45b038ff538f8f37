// State shared by a queue and its reader threads: which samples wait to be read, which are being
// read, and which the worker has.
//
// A thread opens samples and reads them into the channel's arena (the only copy), and reads ahead
// while the worker decodes. A read that fails ends its item at once; the caller decides when to
// retry. The lock is never held during I/O.
//
// **Ownership**: shared by the queue and each of its threads, because a thread may stay blocked in
// the kernel long after the queue is gone.
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
#include "server/workers/queue/item_reader.h"
#include "server/workers/queue/supervisor_endpoint.h"
#include "server/workers/work.h"

namespace penstock::workers {

class QueueReads {
 public:
  struct Options {
    uint32_t number = 0;
    decode::SampleLimits limits;
    base::Duration patience = source::kPatience;  // a read that takes longer is overdue
  };
  // `wake` is signalled when an item ended without a worker. **Requires**: `wake` outlives the
  // threads.
  QueueReads(const Options& options, const posix::Fd& wake) : options_(options), wake_(wake) {}

  // Thread bodies. Serve reads the items of the inbox until the queue ends or another thread has
  // replaced this one (`place`). ReadAside reads a single item on a thread of its own.
  void Serve(uint64_t place);
  void ReadAside(const WorkItem& item);

  // The functions below are for the supervisor's thread.
  void Stop();
  void Attach(std::shared_ptr<SupervisorEndpoint> endpoint);
  void Give(const WorkItem& item);
  // Ends all unread items of this dataset as lost, so that the caller can submit them elsewhere.
  void HandBack(const source::Dataset& dataset);
  // Registers an item for ReadAside, or removes it if no thread could be started.
  void Expect(const WorkItem& item);
  void Forget(const WorkItem& item);

  // Appends the outcomes of items that ended, with or without the worker. False if the worker wrote
  // something invalid.
  bool Collect(base::TimePoint now, std::vector<Outcome>& outcomes);
  // Call it when the worker is dead. Its items are lost, except the current one, which ends as
  // `in_hand`.
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
  // Items whose reads have taken longer than `patience`, each returned once.
  // Also announces what was held back, however long the current read takes: call it at each tick.
  std::vector<OverdueItem> TakeOverdue(base::TimePoint now, base::Duration patience);
  // Whether the thread that serves the inbox is blocked in such a read.
  bool IsReaderOverdue(base::TimePoint now, base::Duration patience) const;
  // Makes the thread `place` serve the inbox. The previous thread only finishes its current read;
  // returns that read's item, if there is one.
  std::vector<uint64_t> GiveInboxTo(uint64_t place);

  // The longest current read.
  struct Longest {
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;
    base::TimePoint since;
  };
  std::optional<Longest> LongestRead() const;
  // Whether blocked regions leave too little of the arena for the largest sample.
  bool IsCrowded() const;

 private:
  struct Sent {
    uint64_t sequence;
    uint64_t offset;  // in the arena
    struct {
      uint64_t offset;
      uint32_t bytes;
    } room;                   // for checkpoints
    uint64_t image_room = 0;  // right before that
    WorkItem item;
    Times times;
  };
  // One read; stays in `reads_` until it ends.
  struct Read {
    WorkItem item;
    std::shared_ptr<SupervisorEndpoint> endpoint;
    base::TimePoint begun;
    std::optional<base::TimePoint> waits_for_source;  // set while the source blocks
    std::optional<uint64_t> offset;                   // in the arena
    bool aside = false, reported = false;
  };
  using ReadPlace = std::list<Read>::iterator;
  // A decoded image in the arena, to be kept. Its region is freed then.
  struct ImageToKeep {
    std::shared_ptr<SupervisorEndpoint> endpoint;
    uint64_t region = 0;
    struct {
      uint64_t offset, bytes;
    } image;
    std::shared_ptr<kept::ImageShelf> shelf;
    uint64_t sample = 0;
    base::Duration decode{};
  };
  // A sample's bytes in the arena, or why there are none.
  struct Fetched {
    OutcomeKind kind = OutcomeKind::kDone;
    base::Fault fault = base::Fault::kNone;
    uint64_t offset = 0;
    ItemReader::Input input = {};
    uint32_t checkpoint_bytes = 0;
    base::Duration held_up{};  // as in Times
  };

  std::optional<ReadPlace> NextRead(uint64_t place);
  std::optional<ImageToKeep> TakeImage();
  void KeepImages();
  void Bring(ReadPlace read);
  absl::StatusOr<Fetched> Fetch(ReadPlace read);
  struct ArenaSpace {
    uint64_t offset = 0;
    base::Duration held_up{};
  };
  std::optional<ArenaSpace> WaitForArena(ReadPlace read, uint64_t bytes);
  void DropInput(ReadPlace read);
  // Call it before a thread waits for anything but a read.
  void AnnounceSent() PENSTOCK_REQUIRES(mutex_);
  void Deliver(ReadPlace read, const Fetched& fetched);
  void End(ReadPlace read, const Fetched& fetched, absl::Status status);
  bool IsCurrent(const Read& read) const PENSTOCK_REQUIRES(mutex_);
  bool CollectCompletions(base::TimePoint now, std::vector<Outcome>& outcomes)
      PENSTOCK_REQUIRES(mutex_);
  void KeepCheckpoints(const Sent& sent, const Completion& completion) PENSTOCK_REQUIRES(mutex_);
  // Frees the item's region, now or when the image in it has been kept.
  void FreeInput(const Sent& sent, const Completion& completion, base::Duration decode)
      PENSTOCK_REQUIRES(mutex_);
  Outcome MakeOutcome(const Sent& sent, const Completion& completion) const;

  const Options options_;
  const posix::Fd& wake_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  uint64_t place_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // the thread that serves the inbox
  std::shared_ptr<SupervisorEndpoint> attached_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<WorkItem> inbox_ PENSTOCK_GUARDED_BY(mutex_);
  std::list<Read> reads_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<Sent> sent_ PENSTOCK_GUARDED_BY(mutex_);
  Announcements announcements_ PENSTOCK_GUARDED_BY(mutex_);     // of those
  std::deque<ImageToKeep> images_ PENSTOCK_GUARDED_BY(mutex_);  // at most what the arena holds
  base::TimePoint oldest_since_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Outcome> ended_ PENSTOCK_GUARDED_BY(mutex_);
  bool broken_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool crowded_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::workers
