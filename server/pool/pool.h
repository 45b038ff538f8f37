// The pool: segments (memfds) cut into slots, one user id and one layout each, within one budget.
//
// A segment belongs to one user for its whole life; it is closed, never handed on, and its pages go
// back to the system at once, whoever still has it mapped and reads zeros there then. An arena is
// all segments of one user and layout. Sessions reserve slots when they open, so an open that does
// not fit is refused then, with the numbers, and nothing waits later. One thread (the runner's)
// owns it.
#pragma once

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
#include "server/pool/spares.h"

namespace penstock::pool {

using SegmentId = base::StrongId<struct SegmentTag, uint32_t>;

// Bytes of all rows of a batch, one behind the other: what one of its tensors, or several, are in.
struct Block {
  uint64_t offset = 0;  // in the slot
  uint64_t row_bytes = 0;
  bool operator==(const Block&) const = default;
};

// Where the parts of a slot are, in bytes from its start.
struct SlotLayout {
  std::vector<Block> blocks;   // the first at 0
  uint64_t labels_offset = 0;  // int64 each
  uint64_t ids_offset = 0;     // uint64 each
  uint64_t slot_bytes = 0;     // whole pages
  bool operator==(const SlotLayout&) const = default;
};
// `row_bytes`: of each block.
SlotLayout LayOut(const std::vector<uint64_t>& row_bytes, uint32_t rows);

struct Segment {
  SegmentId id;
  uint64_t arena = 0;
  uint32_t user = 0;
  uint64_t bytes = 0;
  std::vector<uint32_t> slots;  // ids, in the order of their places
  posix::Fd memory;
  posix::Fd read_only;  // for consumers
  posix::Mapping mapping;
};

// Where a slot is, and how it is laid out.
struct SlotPlace {
  SegmentId segment;
  uint64_t offset = 0;
  std::byte* data = nullptr;
  SlotLayout layout;

  std::byte* Row(size_t block, uint32_t row) const {
    return data + layout.blocks[block].offset + row * layout.blocks[block].row_bytes;
  }
};

struct Usage {
  uint64_t max_bytes = 0, segment_bytes = 0, reserved_bytes = 0;
  uint32_t segments = 0, slots = 0;
};

class Pool {
 public:
  struct Options {
    uint64_t max_bytes = 0;
    uint64_t segment_bytes = 32u << 20;  // a new segment's size, where the budget allows it
    uint64_t preallocate_bytes = 0;      // made by Preallocate; the first segments are cut from it
    // What the machine can still give; asked before a segment is made.
    std::function<uint64_t()> available_bytes;
  };
  // Told of each segment made, which is dropped again where that fails; and asked whether one may
  // go: true when none of its slots is in use, and then its slots and id are forgotten everywhere.
  struct Listener {
    std::function<absl::Status(const Segment&)> made;
    std::function<bool(const Segment&)> give_up;
  };

  Pool(Options options, Listener listener);

  // Makes memory ahead and touches it, so that first sessions need not wait for the system to clear
  // theirs. Once, at start. ResourceExhausted when the machine has not so much.
  absl::Status Preallocate();

  // One arena for each user and layout. Its number is stable while it has slots or reservations;
  // later another one may have it.
  uint64_t ArenaOf(uint32_t user, const SlotLayout& layout);

  // Makes room for `window` more slots in the arena and counts them as reserved. ResourceExhausted
  // says what was wanted, what is left, who holds the rest and what to do.
  absl::Status Reserve(uint64_t arena, uint32_t window);
  void Unreserve(uint64_t arena, uint32_t window, base::TimePoint now);

  // Gives up the segments of arenas that had no reservation for `idle`.
  void Tick(base::TimePoint now, base::Duration idle);

  const SlotPlace& Place(uint32_t slot) const;  // of a living segment; good as long as that lives
  const Segment* Find(SegmentId segment) const;
  Usage Used() const;
  // Of each user who has segments or reservations: the bytes.
  std::map<uint32_t, Usage> UsedByUser() const;

 private:
  struct Arena {
    uint32_t user = 0;
    SlotLayout layout;
    uint64_t slots = 0;
    uint64_t reserved = 0;
    base::TimePoint idle_since{};
  };
  absl::Status Grow(uint64_t arena, uint64_t wanted);
  absl::StatusOr<Spares::Piece> MemoryFor(uint64_t arena, uint64_t wanted);
  uint64_t SlotsToMake(const Arena& arena, uint64_t wanted) const;
  absl::Status DoesNotFit(const Arena& arena, uint64_t wanted, uint64_t left) const;
  void FreeUntil(uint64_t bytes, uint64_t for_arena);
  bool GiveUp(SegmentId id);
  uint64_t Left() const;

  Options options_;
  Listener listener_;
  std::vector<Arena> arenas_;
  std::map<SegmentId, Segment> segments_;
  Spares spares_;
  std::unordered_map<uint32_t, SlotPlace> places_;  // of living segments, by slot id
  uint64_t segment_bytes_ = 0;                      // of living segments
  uint32_t next_segment_ = 1, next_slot_ = 0;       // never used again
};

}  // namespace penstock::pool
