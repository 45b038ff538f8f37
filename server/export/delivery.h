// How a session's batches reach its consumer, as the feed's runner sees it. One for each session,
// owned by the runner's thread; nothing here blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/shm/control_page.h"

namespace penstock::exporting {

// Where a full slot of the pool is. It is held for the session from Announce until the delivery
// lets it go. Equal slot and generation mean equal bytes, whichever session they are announced to.
struct FullSlot {
  uint32_t slot = 0;
  uint64_t generation = 0;
  uint32_t segment = 0;
  uint64_t offset = 0;              // of the slot in the segment
  const std::byte* data = nullptr;  // of the slot, here
  uint64_t labels_offset = 0, ids_offset = 0, slot_bytes = 0;
  const posix::Fd* memory = nullptr;  // of the segment
  uint64_t memory_bytes = 0;
  uint64_t epoch = 0, first = 0;  // the batch's position, for profilers
};

class Delivery {
 public:
  virtual ~Delivery() = default;

  // Whether its consumer reads the pool: then it needs the segments.
  virtual bool reads_pool() const { return true; }

  // The session's own memory, and the event that its consumer rings while the runner sleeps.
  virtual const posix::Fd& memory() const = 0;
  virtual uint64_t memory_bytes() const = 0;
  virtual const posix::Fd& event() const = 0;

  // The core's next batch: entry.sequence is the last one plus one. The consumer may learn of it
  // later, but in this order. `entry` names the slot's place in the pool.
  virtual void Announce(const shm::ControlEntry& entry, const FullSlot& slot) = 0;

  // What happened since the last call.
  struct Heard {
    uint64_t taken = 0;              // so many batches were taken of the pool, in order
    std::vector<uint64_t> released;  // sequences whose slot of the pool is let go
  };
  // One pass. What the consumer wrote is copied here and judged by the core.
  virtual Heard Listen() = 0;

  // What the consumer says of itself: batches that it knows of and did not take, and whether it
  // sleeps because there are none (for status).
  struct Waiting {
    uint64_t ready = 0;
    bool asleep = false;
    bool left = false;  // it closed the session, whether or not we were told
  };
  virtual Waiting LookAtConsumer() const = 0;

  // No batch comes after the announced ones, or why none does. The first word stays.
  virtual void Finish(shm::SessionState state, const absl::Status& reason) = 0;

  // While true, whatever Listen would report rings the event, but for what MustBePolled says.
  virtual void SetAsleep(bool asleep) = 0;
  // True while something may happen that rings nothing: the runner then looks again and again.
  virtual bool MustBePolled() const { return false; }

  // The session is closed while its process lives: nothing more is announced. True once nothing of
  // ours is in the consumer's hands or on its way, so that this may be destroyed.
  virtual bool Leave() { return true; }
};

}  // namespace penstock::exporting
