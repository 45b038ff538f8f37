// The pool: segments (memfds) cut into slots, within one budget. Each segment has one user and one
// slot layout. An arena is all segments of one user and layout.
//
// A segment belongs to one user for its whole life. It is never handed to another; soon after the
// pool has closed it, its pages return to the system, and clients that still map it read zeros.
// Sessions reserve their slots when they open, so a session that does not fit is refused then, with
// the numbers, and nothing waits for memory later.
//
// Sparse slots (slot_layout.h) are reserved like all others, but what is promised then is only
// their labels and ids. Memory for the batch itself is granted later, and may be refused.
//
// **Thread safety**: owned and called by one thread, the runner's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/strong_id.h"
#include "common/posix/memory.h"
#include "server/pool/page_returns.h"
#include "server/pool/slot_layout.h"
#include "server/pool/spares.h"

namespace penstock::pool {

using SegmentId = base::StrongId<struct SegmentTag, uint32_t>;

struct Segment {
  SegmentId id;
  uint64_t arena = 0;
  uint32_t user = 0;
  uint64_t bytes = 0;                // mapped
  uint64_t charged_bytes = 0;        // of the budget; at most `bytes`
  bool sparse = false;               // its slots are
  std::vector<uint32_t> slots = {};  // ids, by ascending offset
  posix::Fd memory = {};
  posix::Fd read_only = {};  // the descriptor for consumers
  posix::Mapping mapping = {};
};

// The location and layout of a slot.
struct SlotPlace {
  SegmentId segment;
  uint64_t offset = 0;
  std::byte* data = nullptr;
  SlotLayout layout;
  uint64_t granted = 0;  // bytes of the made batch that may be written; whole pages

  std::byte* Row(size_t block, uint32_t row) const {
    return data + layout.blocks[block].offset + row * layout.blocks[block].row_bytes;
  }
};

// Of sparse slots, `segment_bytes` includes what is promised and granted, and `reserved_bytes` only
// what is promised.
struct Usage {
  uint64_t max_bytes = 0, segment_bytes = 0, reserved_bytes = 0;
  uint64_t granted_bytes = 0;  // of sparse slots, for made batches; part of segment_bytes
  uint32_t segments = 0, slots = 0;
};

// Whether so much can be allocated at the start (pool.preallocate). **Errors**: ResourceExhausted.
absl::Status CheckPreallocation(uint64_t bytes, uint64_t available_bytes);

class Pool {
 public:
  // The most segments that are kept for arenas without reservations. Each takes two descriptors and
  // a mapping of the daemon, however small it is.
  static constexpr size_t kMostIdleSegments = 64;
  // Of idle segments, in one call, so that what the pool no longer counts is soon given back.
  static constexpr uint64_t kGivenUpAtOnce = uint64_t{64} << 20;
  // The most addresses of the segments together when a sparse one is added. The daemon maps
  // segments whole; a process has 128 TiB on x86-64.
  static constexpr uint64_t kMostAddressBytes = uint64_t{64} << 40;

  struct Options {
    uint64_t max_bytes = 0;
    uint64_t segment_bytes = 32u << 20;  // a new segment's size, if the budget allows it
    uint64_t preallocate_bytes = 0;      // created by Preallocate for the first segments
    // Memory available on the machine; called before a segment is created.
    std::function<uint64_t()> available_bytes = {};
  };
  // `made` is called for each new segment; if it fails, the segment is dropped. `give_up` asks
  // whether a segment may go: it returns true if none of its slots is in use, and must then forget
  // its slots and id everywhere. `unused` returns the slots of a sparse arena whose content nobody
  // uses, those to be lost first; `forget` says that the content of one of these is being lost.
  // Without these two, a granted byte returns only with its segment.
  struct Listener {
    std::function<absl::Status(const Segment&)> made;
    std::function<bool(const Segment&)> give_up;
    std::function<std::vector<uint32_t>(uint64_t arena)> unused = {};
    std::function<void(uint32_t slot)> forget = {};
  };

  Pool(Options options, Listener listener);

  // Allocates memory ahead of time and faults it in, so that the first sessions need not wait for
  // the system to clear theirs. Call once, at start. **Errors**: ResourceExhausted if the machine
  // does not have enough.
  absl::Status Preallocate();

  // The arena of a user and layout. Its number is stable while it has slots or reservations; later
  // another arena may get it.
  uint64_t ArenaOf(uint32_t user, const SlotLayout& layout);

  // Adds slots until `window` more fit into the arena, and reserves them.
  //
  // **Errors**: ResourceExhausted says how much is needed, left and held by others, and what to do.
  absl::Status Reserve(uint64_t arena, uint32_t window);
  void Unreserve(uint64_t arena, uint32_t window, base::TimePoint now);

  // Grants a sparse slot memory for a made batch of at least `bytes`; Place(slot).granted says how
  // much it has then. A grant never shrinks while the slot is in use, and nothing moves. If the
  // pool is full, it first frees what nobody uses, of all users. **Requires**: a live, sparse slot.
  //
  // **Errors**: InvalidArgument if the slot has no room for as much; ResourceExhausted if the pool
  // or the machine has no memory left. Both say the numbers and what to do, and change no grant of
  // a slot that is in use.
  absl::Status Grant(uint32_t slot, uint64_t bytes);

  // Frees the segments of arenas that have had no reservation for `idle`.
  void Tick(base::TimePoint now, base::Duration idle);
  // Waits until the system has the pages of all segments that were freed.
  void AwaitReturns() { returns_->Wait(); }

  const SlotPlace& Place(uint32_t slot) const;  // of a live segment; valid while that lives
  const Segment* Find(SegmentId segment) const;
  Usage Used() const;
  // The usage of each user who has segments or reservations.
  std::map<uint32_t, Usage> UsedByUser() const;

 private:
  struct SegmentArena {
    uint32_t user = 0;
    SlotLayout layout;
    uint64_t slots = 0;
    uint64_t reserved = 0;
    base::TimePoint idle_since{};
  };
  absl::Status Grow(uint64_t arena, uint64_t wanted);
  absl::StatusOr<Spares::SparePiece> MemoryFor(uint64_t arena, uint64_t wanted);
  uint64_t SlotsToMake(const SegmentArena& arena, uint64_t wanted) const;
  absl::Status DoesNotFit(const SegmentArena& arena, uint64_t wanted, uint64_t left) const;
  void FreeUntil(uint64_t bytes, uint64_t for_arena);
  void FreeIdleBeyond(size_t most);
  void GiveUpSome(const std::vector<SegmentId>& ids);
  enum class Return {
    kNow,   // the machine needs the memory
    kSoon,  // on another thread
  };
  bool GiveUp(SegmentId id, Return pages);
  void GiveBack(MappedMemory memory, Return pages);
  uint64_t Left() const;
  uint64_t MachineHas() const;
  uint64_t Untouched() const;
  uint64_t Headroom() const { return std::min(Left(), MachineHas()); }

  absl::Status CannotGrant(uint32_t user, uint64_t granted, uint64_t more) const;
  void GiveBackUnused(uint64_t bytes);
  uint64_t GiveBack(SlotPlace& place);
  absl::Status CheckAddresses(const SlotLayout& layout, uint64_t wanted) const;

  Options options_;
  Listener listener_;
  std::vector<SegmentArena> arenas_;
  std::map<SegmentId, Segment> segments_;
  Spares spares_;
  std::unique_ptr<PageReturns> returns_ = std::make_unique<PageReturns>();
  std::unordered_map<uint32_t, SlotPlace> places_;  // of live segments, by slot id
  uint64_t charged_bytes_ = 0, address_bytes_ = 0;  // of live segments
  uint64_t granted_bytes_ = 0;                      // part of charged_bytes_
  uint32_t next_segment_ = 1, next_slot_ = 0;       // never reused
};

}  // namespace penstock::pool
