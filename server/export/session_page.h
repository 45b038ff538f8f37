// The daemon's side of a session's own memory: the control page, and behind it the notes that a
// delivery may keep there. Announces batches, reads what the consumer wrote. Owned by the runner's
// thread.
//
// The consumer can write to the page at any time and anything: every number is read once,
// atomically, and judged by the caller (the feed's core), never trusted here.
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
  // The consumer reads these, and could write to them: nothing here is ever read back.
  std::byte* notes() const { return mapping_.data() + shm::kControlBytes; }
  const posix::Fd& event() const { return event_; }  // rung by the consumer while we sleep

  // Publishes a batch: entry.sequence must be the number of announcements so far plus one. Wakes
  // the consumer if it sleeps.
  void Announce(const shm::ControlEntry& entry);

  // No batch comes any more, or why none does. The first word that is not kOpen stays.
  void Finish(shm::SessionState state, const absl::Status& reason);

  // What the consumer says, now.
  uint64_t taken() const { return page().taken.load(std::memory_order_acquire); }
  // Announced and not taken, at least 0; and whether it sleeps for lack of them.
  uint64_t untaken() const { return announced_ - std::min(announced_, taken()); }
  bool consumer_asleep() const {
    return page().consumer_asleep.load(std::memory_order_relaxed) != 0 && untaken() == 0;
  }
  bool left() const { return page().left.load(std::memory_order_acquire) != 0; }
  bool Released(uint64_t sequence) const {
    return page().released[(sequence - 1) % shm::kControlCapacity].load(
               std::memory_order_acquire) == sequence;
  }

  // While true, a consumer rings the event at each release.
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
