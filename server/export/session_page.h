// The daemon's side of a session's own memory: the control page and, behind it, space for a
// delivery's notes (labels and ids). Announces batches and reads what the consumer wrote.
//
// The consumer can write anything to the page at any time. Every number is therefore read once,
// atomically, and checked by the caller (the feed's core), never trusted here.
//
// **Ownership**: owned by the runner's thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/status.h"
#include "common/posix/memory.h"
#include "common/shm/control_page.h"

namespace penstock::exporting {

class SessionPage {
 public:
  // 1 ≤ window ≤ shm::kControlCapacity.
  static absl::StatusOr<SessionPage> Make(uint64_t session_id, uint32_t window,
                                          uint64_t notes_bytes = 0);

  const posix::Fd& memory() const { return memory_; }  // page and notes, for the consumer
  uint64_t bytes() const { return shm::kControlBytes + notes_bytes_; }
  // The consumer reads these and could overwrite them: never read them back.
  std::byte* notes() const { return mapping_.data() + shm::kControlBytes; }
  const posix::Fd& event() const { return event_; }  // the consumer notifies it while we sleep

  // Publishes a batch; entry.sequence must be the number of announcements so far plus one. Wakes
  // the consumer if it sleeps.
  void Announce(const shm::ControlEntry& entry);

  // Tells the consumer that no more batches follow, and the reason if that is an error. Only the
  // first call counts.
  void Finish(shm::SessionState state, const absl::Status& reason);

  // Asks the consumer to fork hosts, so many since the session was opened, and wakes it if it
  // sleeps.
  void WantHosts(uint32_t hosts);

  // What the consumer reports now.
  uint64_t taken() const { return page().taken.load(std::memory_order_acquire); }
  // Batches announced and not taken; and whether the consumer sleeps because there are none.
  uint64_t untaken() const { return announced_ - std::min(announced_, taken()); }
  bool consumer_asleep() const {
    return page().consumer_asleep.load(std::memory_order_relaxed) != 0 && untaken() == 0;
  }
  uint32_t hosts_forked() const { return page().hosts_forked.load(std::memory_order_acquire); }
  bool left() const { return page().left.load(std::memory_order_acquire) != 0; }
  bool Released(uint64_t sequence) const {
    return page().released[(sequence - 1) % shm::kControlCapacity].load(
               std::memory_order_acquire) == sequence;
  }

  // While true, the consumer notifies the event at each release.
  void SetAsleep(bool asleep);

 private:
  SessionPage() = default;
  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(mapping_.data()); }
  void WakeConsumer();

  posix::Fd memory_;
  posix::Fd event_;
  posix::Mapping mapping_;
  uint64_t notes_bytes_ = 0;
  uint64_t announced_ = 0;
};

}  // namespace penstock::exporting
