// Delivers a session's batches to its consumer; the interface that the feed's runner uses. Nothing
// here blocks.
//
// **Ownership**: one per session, owned by the runner's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/shm/control_page.h"

namespace penstock::exporting {

// A full slot of the pool. The session holds it from Announce until the delivery reports it as
// released. Equal slot and generation mean equal bytes, in every session to which they are
// announced.
struct FullSlot {
  uint32_t slot = 0;
  uint64_t generation = 0;
  uint32_t segment = 0;
  uint64_t offset = 0;              // of the slot in the segment
  const std::byte* data = nullptr;  // of the slot, in this process
  uint64_t labels_offset = 0, ids_offset = 0, slot_bytes = 0;
  const posix::Fd* memory = nullptr;  // the segment's memfd
  uint64_t memory_bytes = 0;
  uint64_t epoch = 0, first = 0;  // the batch's position, for profilers
};

class BatchDelivery {
 public:
  virtual ~BatchDelivery() = default;

  // Whether the consumer reads the pool and therefore needs the segments.
  virtual bool reads_pool() const { return true; }

  // The session's own memory, and the event with which its consumer notifies the sleeping runner.
  virtual const posix::Fd& memory() const = 0;
  virtual uint64_t memory_bytes() const = 0;
  virtual const posix::Fd& event() const = 0;

  // Announces the core's next batch; entry.sequence is the previous one plus one. The consumer may
  // learn of it later, but in this order. `entry` names the slot's location in the pool.
  virtual void Announce(const shm::ControlEntry& entry, const FullSlot& slot) = 0;

  // What happened since the last call.
  struct Heard {
    uint64_t taken = 0;              // number of batches taken from the pool so far, in order
    std::vector<uint64_t> released;  // sequences whose slot of the pool is released
  };
  // Makes one pass. Copies what the consumer wrote, for the core to check.
  virtual Heard Listen() = 0;

  // What the consumer reports about itself, for status: how many announced batches it has not
  // taken, and whether it sleeps because there are none.
  struct Waiting {
    uint64_t ready = 0;
    bool asleep = false;
    bool left = false;  // it closed the session, even if its CloseSession did not reach us
    uint32_t hosts_forked = 0;  // as asked for by WantHosts, or tried to
  };
  virtual Waiting LookAtConsumer() const = 0;

  // Asks the consumer to fork a host for a Python dataset, until it has forked so many.
  virtual void WantHosts(uint32_t) {}

  // Tells the consumer that no more batches follow, and the reason if that is an error. Only the
  // first call counts.
  virtual void Finish(shm::SessionState state, const absl::Status& reason) = 0;

  // While true, everything that Listen would report also notifies the event, except what
  // MustBePolled covers.
  virtual void SetAsleep(bool asleep) = 0;
  // True while something may happen that notifies no event: the runner then polls.
  virtual bool MustBePolled() const { return false; }

  // Called when the session is closed while its process lives: nothing more is announced. Returns
  // true once the consumer neither holds nor is about to receive anything of ours, so that this may
  // be destroyed.
  virtual bool Leave() { return true; }
};

}  // namespace penstock::exporting
