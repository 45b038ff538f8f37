// Feeds, slots, leases and sessions as one state machine: events in, actions out. No thread, clock,
// I/O or lock; one owner (the runner's thread) calls it.
//
// What always holds:
//  - A slot is free, cached (full, held by nobody), filling, or full and held; its generation rises
//  each
//    time it begins to fill.
//  - announced − released + filling of a session never exceeds its window; slots of an arena are at
//    least the sum of its sessions' windows, so no session ever waits for another's slots.
//  - Two sessions of one user that want the same position of one feed hold the same slot.
//  - Batches of a session are announced in order, each once, only when every row of the slot is
//  done.
//  - A slot is filled again only when no lease is on it and no row of it is in a worker's hands.
//  - A session's newest batch is less than kMaxWindow sequences ahead of its oldest unreleased one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/strong_id.h"
#include "server/plan/plan.h"

namespace penstock::feed {

using SessionId = base::StrongId<struct SessionTag>;
using FeedId = base::StrongId<struct FeedTag>;  // FeedBook's number, never used again
using SlotId = base::StrongId<struct SlotTag, uint32_t>;
using ArenaId = base::StrongId<struct ArenaTag>;  // slots of one user and one size
using UserId = base::StrongId<struct UserTag, uint32_t>;

inline constexpr uint32_t kMaxWindow = 256;

// Who fills a feed's rows. Each fill path has turns of its own: where one is busy, no other waits.
enum class FillPath : uint32_t {
  kWorkers,     // decode, one row after the other
  kRowCopiers,  // copy rows that need no decoding, many at once
  kNobody,      // there is nothing to fill: the consumer makes the rows
};
inline constexpr size_t kFillPaths = 3;

// Whether a user may be given rows.
enum class Turn {
  kNow,
  kLater,  // once others make room
  kNot,    // not before something of its own changes
};

struct SessionSpec {
  UserId user;
  FeedId feed;
  ArenaId arena;
  FillPath fill_path = FillPath::kWorkers;  // of the feed: the same for all its sessions, as `run`
  uint32_t run = 1;   // so many rows of a slot, at most, are given out at once; at least 1
  plan::Share share;  // of the first epoch; later ones begin at consumed = 0
  uint64_t first_epoch = 0;
  uint64_t epochs = 0;   // how many, the first included; 0: without end
  uint32_t window = 4;   // 1 to kMaxWindow
  uint64_t variant = 0;  // quarantine version: part of the slots' key
};

// A run of rows to fill: of the workers' fill path one row.
struct RowTask {
  UserId user;
  FeedId feed;
  SlotId slot;
  uint64_t generation = 0;
  uint32_t row = 0;   // the first
  uint32_t rows = 1;  // how many
  uint64_t epoch = 0;
  uint64_t index = 0;    // of the first in the epoch's order; the others follow, and what is beyond
                         // the last sample is padding
  uint32_t attempt = 0;  // how many samples before this one could not be used
  // Of whoever reads, not looked at here: reads of these rows that failed, one after the other, and
  // since when.
  uint32_t failed_reads = 0;
  base::TimePoint failing_since{};
};

// One batch to tell a session of.
struct Announcement {
  SessionId session;
  uint64_t sequence = 0;  // 1, 2, …
  SlotId slot;
  uint64_t generation = 0;
  plan::Position position;
  uint32_t valid_rows = 0;
  uint64_t step = 0;      // k within its epoch, counted from share.consumed in the first one
  uint64_t consumed = 0;  // of the epoch, by all ranks, once this batch is
  bool last_of_epoch = false;
};

struct SessionView {
  uint64_t announced = 0, taken = 0, released = 0;
  uint32_t filling = 0;
  uint32_t window = 0;    // as it is now; shrinks when untouched
  bool finished = false;  // every batch that will ever come was announced
};

struct FeedView {
  uint64_t batches_decoded = 0, batches_announced = 0, rows_decoded = 0, rows_replaced = 0;
  uint32_t sessions = 0;
};

struct SlotCounts {
  uint32_t slots = 0, held = 0, cached = 0, filling = 0;
};

class Core {
 public:
  Core();
  ~Core();

  // Gives an arena more slots; takes them away again, all or none: false while one is held or
  // filling, or when the rest would be fewer than the arena's windows need. A slot is in one arena.
  void AddSlots(ArenaId arena, std::span<const SlotId> slots);
  bool RemoveSlots(ArenaId arena, std::span<const SlotId> slots);

  // FailedPrecondition when the arena has fewer slots than its windows would then need, or the
  // session is open already. InvalidArgument: other sessions say something else of its feed. A
  // session with nothing left of its epochs opens finished. **Requires**: IsPossible(spec).
  absl::Status OpenSession(SessionId session, const SessionSpec& spec, base::TimePoint now);
  // The consumer let go of everything, or its process is gone: leases reclaimed. Idempotent.
  void CloseSession(SessionId session);
  // Its connection is closed but its process lives: nothing more is filled for it or announced to
  // it. Leases stay, and may still be taken and released.
  void DetachSession(SessionId session);
  // From now on its slots are keyed by another quarantine version.
  void SetVariant(FeedId feed, uint64_t variant);

  // What the consumer says. InvalidArgument for numbers that cannot be: the caller closes the
  // session. NotFound for a session that is not open. Batches are taken in order and released in
  // any order, each after it was taken.
  absl::Status Taken(SessionId session, uint64_t count, base::TimePoint now);
  absl::Status Released(SessionId session, uint64_t sequence, base::TimePoint now);
  // Sequences announced and not released: whose release words to look at.
  std::vector<uint64_t> Outstanding(SessionId session) const;

  // Whether a user may have more rows now; whether a feed's samples may be read now.
  using MayHave = absl::FunctionRef<Turn(UserId)>;
  using MayRead = absl::FunctionRef<bool(UserId, FeedId)>;
  // The next rows to fill, by the rules of who is served next; nothing when no session on that
  // fill path needs any.
  std::optional<RowTask> NextRow(FillPath fill_path = FillPath::kWorkers) {
    return NextRow(
        fill_path, [](UserId) { return Turn::kNow; }, [](UserId, FeedId) { return true; });
  }
  // The same, of those users alone who may have more now, and of those feeds alone whose samples
  // may be read now. Rows that came back are given out first.
  std::optional<RowTask> NextRow(FillPath fill_path, MayHave may_have, MayRead may_read);
  // Whether anybody still wants these rows, which were given out.
  bool IsWanted(const RowTask& task) const;
  // Who waits for others to make room, and has had the least: when NextRow last gave nothing.
  std::optional<UserId> Claimant(FillPath fill_path) const;
  // So does this one, whose rows are kept elsewhere.
  void Claim(FillPath fill_path, UserId user);
  // What a user has had of that fill path's time; only a comparison with others' says something.
  base::Duration Spent(FillPath fill_path, UserId user) const;
  // How what NextRow gave out ended; each is answered, whole, by exactly one of these. `cost`: how
  // long those who fill rows were taken by it; without it, as long as usual.
  using Cost = std::optional<base::Duration>;
  void RowDone(const RowTask& task, Cost cost = {});
  void RowReturned(const RowTask& task, Cost cost = {});  // not decoded: given out again, first
  void RowRefused(const RowTask& task, Cost cost = {});   // … as the next attempt, first
  // Rows whose slot nobody wants any more may still be answered by either; then the slot is free.

  // What became ready since the last call, in order for each session.
  std::vector<Announcement> TakeAnnouncements();

  // Windows untouched for 30 s shrink to one batch.
  void Tick(base::TimePoint now);

  std::optional<SessionView> View(SessionId session) const;
  std::optional<FeedView> View(FeedId feed) const;
  // The slots with rows, or rows on the way, and the feeds that they are of.
  void ForEachSlot(absl::FunctionRef<void(SlotId, FeedId)> each) const;
  SlotCounts Count(ArenaId arena) const;
  SlotCounts CountAll() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::feed
