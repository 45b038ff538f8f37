// One session's window: which batches it was given, knows of, took and released, and which it wants
// next.
// Validates the numbers that a consumer reports.
// **Ownership**: owned by the core.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "server/feed/core/arena.h"
#include "server/feed/core/cursor.h"
#include "server/feed/core/slot.h"

namespace penstock::feed {

// Whether its numbers are valid and an epoch has a batch for this rank. The core relies on this;
// server/session/validate.h refuses such requests with a message.
bool IsPossible(const SessionSpec& spec);

class Session {
 public:
  Session(SessionId id, const SessionSpec& spec, Arena& arena, base::TimePoint now);

  SessionId id() const { return id_; }
  const SessionSpec& spec() const { return spec_; }
  Arena& arena() const { return arena_; }
  const Cursor& cursor() const { return cursor_; }  // at the batch it wants next

  // Whether its window has room for another batch, and there is one.
  bool Wants() const;
  SlotKey NextKey() const { return {spec_.user, spec_.feed, spec_.variant, cursor_.position()}; }
  void SetVariant(uint64_t variant) { spec_.variant = variant; }
  // Batches that are ready, or will be without further decisions.
  uint64_t Supply() const { return given() - taken_; }
  // When it last got a slot, in the schedule's logical time.
  uint64_t last_given() const { return last_given_; }

  // Gives it the slot for the batch it wants next. **Requires**: the arena already counts it as a
  // holder.
  void Give(Slot& slot, uint64_t when);
  // Whether the next unannounced batch is full.
  bool HasReady() const;
  Announcement Announce();
  // The runner knows of the announcement, so the consumer may too.
  void Sent(uint64_t sequence) { sent_ = sequence; }

  absl::Status Taken(uint64_t count, base::TimePoint now);
  // Returns the slot that it releases.
  absl::StatusOr<Slot*> Released(uint64_t sequence);
  std::vector<uint64_t> Outstanding() const;

  // Gives it nothing more. Returns the slots of batches that the runner does not know of.
  std::vector<Slot*> Detach();
  // The slots that it still holds.
  std::vector<Slot*> Held() const;

  // Slots reserved for it: its window, or, once detached, only what it holds.
  uint64_t Reserved() const { return detached_ ? given() - released_ : spec_.window; }
  void ShrinkIfUntouched(base::TimePoint now);
  SessionView View() const;

 private:
  struct Lease {
    Slot* slot = nullptr;
    uint64_t generation = 0;
    plan::Position position;
    plan::Batch batch;
    uint64_t step = 0;
    bool last_of_epoch = false;
    bool released = false;
  };
  uint64_t given() const { return oldest_ - 1 + leases_.size(); }
  const Lease& LeaseOf(uint64_t sequence) const { return leases_[sequence - oldest_]; }

  const SessionId id_;
  SessionSpec spec_;
  Arena& arena_;
  Cursor cursor_;
  // By sequence, starting with oldest_, the first one that is not released.
  std::deque<Lease> leases_;
  uint64_t oldest_ = 1;
  uint64_t announced_ = 0;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
  uint64_t released_ = 0;
  uint64_t last_given_ = 0;
  uint32_t window_;  // current
  base::TimePoint touched_;
  bool detached_ = false;
};

}  // namespace penstock::feed
