// Feeds, slots, leases and sessions as one state machine: events in, actions out. No threads,
// clocks, I/O or locks.
// **Thread safety**: one owner (the runner's thread) calls it.
//
// Invariants:
// - A slot is free, cached (full, held by nobody), filling, or full and held. Its generation
//   increases each time it begins to fill.
// - A session's announced − released + filling batches never exceed its window. An arena has at
//   least as many slots as the sum of its sessions' windows, so no session waits for another's
//   slots.
// - Two sessions of one user that want the same position of one feed hold the same slot.
// - A session's batches are announced in order, each once, when every row of the slot is done.
// - A slot that is not to be kept is never cached.
// - A slot is refilled only when it has no lease and no row of it is with a worker.
// - A session's newest batch is less than kMaxWindow sequences ahead of its oldest unreleased one.
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
#include "server/feed/core/ranks_here.h"
#include "server/plan/plan.h"

namespace penstock::feed {

using SessionId = base::StrongId<struct SessionTag>;
using FeedId = base::StrongId<struct FeedTag>;  // FeedBook's number, never reused
using SlotId = base::StrongId<struct SlotTag, uint32_t>;
using ArenaId = base::StrongId<struct ArenaTag>;  // the slots of one user and size
using UserId = base::StrongId<struct UserTag, uint32_t>;

inline constexpr uint32_t kMaxWindow = 256;

// Who fills a feed's rows. Each fill path is scheduled separately, so a busy one delays no other.
enum class FillPath : uint32_t {
  kWorkers,     // decode single rows
  kRowCopiers,  // copy runs of rows that need no decoding
  kNobody,      // nothing to fill: the consumer generates the rows
  kPython,      // Python workers make whole batches
};
inline constexpr size_t kFillPaths = 4;

// Whether a user may be given rows.
enum class Turn {
  kNow,
  kLater,  // when others make room
  kNot,    // only after its own state changes
};

// Whether a full slot may be found again once nobody holds it.
enum class Keep {
  kYes,
  kNo,  // its content is good only for those who already wait for it or hold it: it is an error
};

struct SessionSpec {
  UserId user;
  FeedId feed;
  ArenaId arena;
  FillPath fill_path = FillPath::kWorkers;  // the same for all sessions of the feed, as is `run`
  uint32_t run = 1;        // the most rows of a slot that are given out at once; at least 1
  plan::Share share = {};  // for the first epoch; later ones begin at consumed = 0
  uint64_t first_epoch = 0;
  uint64_t epochs = 0;   // number of epochs, including the first; 0: unlimited
  uint32_t window = 4;   // 1 to kMaxWindow
  uint64_t variant = 0;  // quarantine version; part of slot keys
};

// A run of rows to fill; for workers, a single row.
struct RowTask {
  UserId user = {};
  FeedId feed = {};
  SlotId slot = {};
  uint64_t generation = 0;
  uint32_t row = 0;   // the first one
  uint32_t rows = 1;  // number of rows
  uint64_t epoch = 0;
  // Index of the first row in the epoch's order. The others follow it; rows beyond the last sample
  // are padding.
  uint64_t index = 0;
  // The feed has completed the slot's row before, and no other feed has written there since.
  bool rewrites = false;
  uint32_t attempt = 0;  // number of previous samples that could not be used
  // For the reader; not used here: consecutive failed reads of these rows, and since when.
  uint32_t failed_reads = 0;
  base::TimePoint failing_since{};
};

// A batch to announce to a session.
struct Announcement {
  SessionId session;
  uint64_t sequence = 0;  // 1, 2, …
  SlotId slot;
  uint64_t generation = 0;
  plan::Position position;
  uint32_t valid_rows = 0;
  uint64_t step = 0;      // index within its epoch, in the first one counted from share.consumed
  uint64_t consumed = 0;  // samples of the epoch that all ranks have consumed after this batch
  bool last_of_epoch = false;
};

struct SessionView {
  uint64_t announced = 0, taken = 0, released = 0;
  uint32_t filling = 0;
  uint32_t window = 0;    // current window; shrinks while unused
  bool finished = false;  // all batches have been announced
};

struct FeedView {
  uint64_t batches_decoded = 0, batches_announced = 0, rows_decoded = 0, rows_replaced = 0;
  uint32_t sessions = 0;
};

struct SlotCounts {
  uint32_t slots = 0, held = 0, cached = 0, filling = 0;
  uint32_t abandoned = 0;  // of those that are filling: nobody wants them any more
};

class Core {
 public:
  Core();
  ~Core();

  // Adds slots to an arena, or removes them, all or none: false if one is held or filling, or if
  // too few would be left for the arena's windows. A slot belongs to one arena.
  void AddSlots(ArenaId arena, std::span<const SlotId> slots);
  bool RemoveSlots(ArenaId arena, std::span<const SlotId> slots);
  // Slots whose content nobody uses: free ones, then cached ones, those held longest ago first.
  std::vector<SlotId> Unused(ArenaId arena) const;
  // What the slot holds can't be found again. The slot stays. **Requires**: Unused contains it.
  void Forget(SlotId slot);

  // A session with nothing left of its epochs opens as finished. **Requires**: IsPossible(spec).
  // **Errors**: FailedPrecondition if the session is open already, or the arena has too few slots
  // for its windows; InvalidArgument if other sessions describe its feed differently.
  absl::Status OpenSession(SessionId session, const SessionSpec& spec, base::TimePoint now);
  // The consumer released everything, or its process is gone: reclaims its leases. Idempotent.
  void CloseSession(SessionId session);
  // The session's connection is closed but its process lives: nothing more is filled or announced
  // for it. Its leases stay, and may still be taken and released.
  void DetachSession(SessionId session);
  // Keys slots filled from now on by another quarantine version.
  void SetVariant(FeedId feed, uint64_t variant);

  // What the consumer reports. Batches are taken in order, and released in any order after they
  // were taken.
  // **Errors**: InvalidArgument for invalid numbers (the caller closes the session); NotFound if
  // the session is not open.
  absl::Status Taken(SessionId session, uint64_t count, base::TimePoint now);
  absl::Status Released(SessionId session, uint64_t sequence, base::TimePoint now);
  // Sequences that are announced and not released, whose release words must be checked.
  std::vector<uint64_t> Outstanding(SessionId session) const;

  // Whether a user may get more rows now, and whether a feed's samples may be read now.
  using MayHave = absl::FunctionRef<Turn(UserId)>;
  using MayRead = absl::FunctionRef<bool(UserId, FeedId)>;
  // The next rows to fill, according to the scheduling rules; nullopt if no session needs any on
  // this fill path.
  std::optional<RowTask> NextRow(FillPath fill_path = FillPath::kWorkers) {
    return NextRow(
        fill_path, [](UserId) { return Turn::kNow; }, [](UserId, FeedId) { return true; });
  }
  // The same, restricted to users that may get more and feeds that may be read. Of one user, rows
  // that came back go first.
  std::optional<RowTask> NextRow(FillPath fill_path, MayHave may_have, MayRead may_read);
  // The batches that will be filled soon, learnt by the last NextRow: the one that it began, if
  // any, and the next of that session.
  struct Ahead {
    FeedId feed = {};
    plan::Position position = {};
    RanksHere ranks = {};  // which the feed has here
  };
  std::span<const Ahead> ahead() const;
  // Whether any session still wants these rows.
  bool IsWanted(const RowTask& task) const;
  // After NextRow returned nullopt: the user with the least usage of those that wait for others to
  // make room.
  std::optional<UserId> Claimant(FillPath fill_path) const;
  // Counts another user, whose rows are kept elsewhere, among those that wait.
  void Claim(FillPath fill_path, UserId user);
  // The user's usage of the fill path's time; meaningful only in comparison with others'.
  base::Duration Spent(FillPath fill_path, UserId user) const;
  // Says how long each user's rows in progress have occupied workers so far, without the time that
  // was already reported as a cost.
  void Occupied(FillPath fill_path, absl::FunctionRef<base::Duration(UserId)> so_far);
  // Call exactly one of these when all rows of a task from NextRow have ended. `cost`: how long
  // they occupied a worker or row copier; unset: the average.
  using Cost = std::optional<base::Duration>;
  // One row that is not to be kept is enough for its slot not to be.
  void RowDone(const RowTask& task, Cost cost = {}, Keep keep = Keep::kYes);
  // Not decoded: given out again, before other rows of the user.
  void RowReturned(const RowTask& task, Cost cost = {});
  void RowRefused(const RowTask& task, Cost cost = {});  // … with the next attempt
  // If nobody wants the slot any more, any of them may be called; the slot is then freed.

  // Announcements since the last call, in order for each session.
  std::vector<Announcement> TakeAnnouncements();

  // Windows whose ready batches nobody has taken for 30 s shrink to one batch.
  void Tick(base::TimePoint now);

  std::optional<SessionView> View(SessionId session) const;
  std::optional<FeedView> View(FeedId feed) const;
  // All slots with filled or filling rows, and their feeds.
  void ForEachSlot(absl::FunctionRef<void(SlotId, FeedId)> each) const;
  SlotCounts Count(ArenaId arena) const;
  SlotCounts CountAll() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::feed
