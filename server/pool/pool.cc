#include "server/pool/pool.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/units.h"
#include "common/posix/failpoint.h"

namespace penstock::pool {
namespace {

// Slots per segment, unless more are needed at once: small slots need no large segment.
constexpr uint64_t kMostSlots = 64;

absl::StatusOr<posix::Mapping> MapWhole(const Segment& segment, const SlotLayout& layout) {
  absl::StatusOr<posix::Mapping> mapping =
      posix::Mapping::Map(segment.memory, segment.bytes, posix::Access::kReadWrite);
  if (!layout.sparse()) return mapping;
  if (mapping.ok()) {
    mapping->LeaveOutOfDumps();
    return mapping;
  }
  return absl::Status(
      mapping.status().code(),
      absl::StrCat(mapping.status().message(),
                   "; lower max_batch_bytes, or raise the limit of addresses (ulimit -v)"));
}

}  // namespace

Pool::Pool(Options options, Listener listener)
    : options_(std::move(options)), listener_(std::move(listener)) {}

uint64_t Pool::ArenaOf(uint32_t user, const SlotLayout& layout) {
  const auto same = [&](const SegmentArena& arena) {
    return arena.user == user && arena.layout == layout;
  };
  const auto unused = [](const SegmentArena& arena) {
    return arena.slots == 0 && arena.reserved == 0;
  };
  auto found = std::find_if(arenas_.begin(), arenas_.end(), same);
  if (found == arenas_.end()) {
    found = std::find_if(arenas_.begin(), arenas_.end(), unused);
    if (found == arenas_.end()) found = arenas_.emplace(arenas_.end());
    *found = {.user = user, .layout = layout};
  }
  return static_cast<uint64_t>(found - arenas_.begin());
}

absl::Status CheckPreallocation(uint64_t bytes, uint64_t available_bytes) {
  if (bytes <= available_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("pool.preallocate: got ", base::FormatBytes(bytes), ", but the machine has ",
                   base::FormatBytes(available_bytes), " available; lower it or free some memory"));
}

absl::Status Pool::Preallocate() {
  const uint64_t bytes = options_.preallocate_bytes;
  if (bytes == 0) return absl::OkStatus();
  const uint64_t available = options_.available_bytes ? options_.available_bytes() : UINT64_MAX;
  PENSTOCK_RETURN_IF_ERROR(CheckPreallocation(bytes, available));
  return spares_.Make(bytes, options_.segment_bytes);
}

absl::Status Pool::Reserve(uint64_t arena_id, uint32_t window) {
  const uint64_t needed = arenas_[arena_id].reserved + window;
  while (arenas_[arena_id].slots < needed)
    PENSTOCK_RETURN_IF_ERROR(Grow(arena_id, needed - arenas_[arena_id].slots));
  arenas_[arena_id].reserved = needed;
  return absl::OkStatus();
}

void Pool::Unreserve(uint64_t arena_id, uint32_t window, base::TimePoint now) {
  SegmentArena& arena = arenas_[arena_id];
  PENSTOCK_CHECK(arena.reserved >= window);
  arena.reserved -= window;
  if (arena.reserved > 0) return;
  arena.idle_since = now;
  FreeIdleBeyond(kMostIdleSegments);
}

void Pool::Tick(base::TimePoint now, base::Duration idle) {
  std::vector<SegmentId> old;
  for (const auto& [id, segment] : segments_) {
    const SegmentArena& arena = arenas_[segment.arena];
    if (arena.reserved == 0 && now - arena.idle_since >= idle) old.push_back(id);
  }
  GiveUpSome(old);
  FreeIdleBeyond(kMostIdleSegments);  // those that were still in use when they were unreserved
}

void Pool::GiveUpSome(const std::vector<SegmentId>& ids) {
  uint64_t given_up = 0;
  for (SegmentId id : ids) {
    const uint64_t bytes = segments_.at(id).charged_bytes;
    if (given_up >= kGivenUpAtOnce) return;
    if (GiveUp(id, Return::kSoon)) given_up += bytes;
  }
}

absl::Status Pool::Grow(uint64_t arena_id, uint64_t wanted) {
  const SlotLayout layout = arenas_[arena_id].layout;
  PENSTOCK_ASSIGN_OR_RETURN(Spares::SparePiece piece, MemoryFor(arena_id, wanted));

  PENSTOCK_FAILPOINT_RETURN("pool.segment_allocated");
  Segment segment;
  segment.id = SegmentId(next_segment_);
  segment.arena = arena_id;
  segment.user = arenas_[arena_id].user;
  segment.sparse = layout.sparse();
  segment.bytes = piece.bytes;
  segment.charged_bytes = piece.bytes / layout.slot_bytes * layout.promised_bytes();
  segment.memory = std::move(piece.memory);
  PENSTOCK_ASSIGN_OR_RETURN(segment.read_only, posix::ReadOnlyView(segment.memory));
  PENSTOCK_ASSIGN_OR_RETURN(segment.mapping, MapWhole(segment, layout));

  const uint64_t slots = segment.bytes / layout.slot_bytes;
  for (uint64_t place = 0; place < slots; ++place)
    segment.slots.push_back(next_slot_ + static_cast<uint32_t>(place));
  PENSTOCK_RETURN_IF_ERROR(listener_.made(segment));
  for (uint64_t place = 0; place < slots; ++place) {
    const uint64_t offset = place * layout.slot_bytes;
    places_[next_slot_++] = {segment.id, offset, segment.mapping.data() + offset, layout};
  }
  ++next_segment_;
  charged_bytes_ += segment.charged_bytes;
  address_bytes_ += segment.bytes;
  arenas_[arena_id].slots += slots;
  const bool fresh = segments_.emplace(segment.id, std::move(segment)).second;
  PENSTOCK_CHECK(fresh);
  PENSTOCK_FAILPOINT("pool.segment_made");
  return absl::OkStatus();
}

// Prefers preallocated memory if a piece holds at least one slot; the caller asks again for the
// slots still missing. Sparse slots don't use it, because most of it would be beyond their grants.
absl::StatusOr<Spares::SparePiece> Pool::MemoryFor(uint64_t arena_id, uint64_t wanted) {
  const SlotLayout layout = arenas_[arena_id].layout;
  if (layout.promised_bytes() > options_.max_bytes / wanted)
    return DoesNotFit(arenas_[arena_id], wanted, Left());
  if (layout.sparse()) {
    PENSTOCK_RETURN_IF_ERROR(CheckAddresses(layout, wanted));
  } else if (std::optional<Spares::SparePiece> spare = spares_.Take(layout.slot_bytes)) {
    return *std::move(spare);
  }

  FreeUntil(wanted * layout.promised_bytes(), arena_id);
  const uint64_t slots = SlotsToMake(arenas_[arena_id], wanted);
  if (slots == 0) return DoesNotFit(arenas_[arena_id], wanted, Left());
  Spares::SparePiece piece{.memory = {}, .bytes = slots * layout.slot_bytes};
  PENSTOCK_ASSIGN_OR_RETURN(piece.memory, posix::MakeMemory("penstock-segment", piece.bytes));
  return piece;
}

// As many slots as a segment of the usual size holds, but at least `wanted` and at most what fits.
uint64_t Pool::SlotsToMake(const SegmentArena& arena, uint64_t wanted) const {
  const uint64_t fits = Headroom() / arena.layout.promised_bytes();
  if (fits < wanted) return 0;
  const uint64_t usual = std::min(options_.segment_bytes / arena.layout.slot_bytes, kMostSlots);
  return std::clamp(usual, wanted, fits);
}

absl::Status Pool::DoesNotFit(const SegmentArena& arena, uint64_t wanted, uint64_t left) const {
  std::string machine;
  if (options_.available_bytes)
    machine = absl::StrCat(", the machine has ", base::FormatBytes(MachineHas()), " available");
  uint64_t of_others = 0;
  for (const auto& [id, segment] : segments_)
    if (segment.user != arena.user) of_others += segment.charged_bytes;
  const std::string others =
      of_others == 0 ? ""
                     : absl::StrCat("; other users have ", base::FormatBytes(of_others),
                                    " (limits.max_pool_per_user bounds each user's share)");
  return absl::ResourceExhaustedError(absl::StrCat(
      "the session's prefetch window needs ", wanted, " more slots of ",
      base::FormatBytes(arena.layout.promised_bytes()), "; open sessions leave ",
      base::FormatBytes(left), " of the pool's ", base::FormatBytes(options_.max_bytes), others,
      machine, "; ask for a smaller window or batch, close sessions, or raise pool.max"));
}

// Frees preallocated memory, then segments that other arenas can spare, oldest first, then what
// unused sparse slots were granted, until the pool and the machine have `bytes` left.
void Pool::FreeUntil(uint64_t bytes, uint64_t for_arena) {
  // What is on its way back is no longer counted, but the machine does not have it yet.
  if (returns_->bytes() > 0 && MachineHas() < bytes) returns_->Hurry();
  if (Headroom() >= bytes) return;
  const bool has_time = MachineHas() >= bytes + returns_->bytes();
  const Return pages = has_time ? Return::kSoon : Return::kNow;
  while (Headroom() < bytes && !spares_.empty()) {
    Spares::SparePiece piece = spares_.Drop();
    GiveBack({.memory = std::move(piece.memory), .bytes = piece.bytes}, pages);
  }
  std::vector<SegmentId> ids;
  for (const auto& [id, segment] : segments_) ids.push_back(id);
  for (SegmentId id : ids) {
    if (Headroom() >= bytes) return;
    const Segment& segment = segments_.at(id);
    const SegmentArena& arena = arenas_[segment.arena];
    if (segment.arena == for_arena) continue;
    if (arena.slots - segment.slots.size() >= arena.reserved) GiveUp(id, pages);
  }
  if (const uint64_t headroom = Headroom(); headroom < bytes) GiveBackUnused(bytes - headroom);
}

// Frees segments of arenas without reservations, those idle for longest first.
void Pool::FreeIdleBeyond(size_t most) {
  std::vector<std::pair<base::TimePoint, SegmentId>> idle;
  for (const auto& [id, segment] : segments_) {
    const SegmentArena& arena = arenas_[segment.arena];
    if (arena.reserved == 0) idle.emplace_back(arena.idle_since, id);
  }
  if (idle.size() <= most) return;
  std::sort(idle.begin(), idle.end());
  std::vector<SegmentId> beyond;
  for (size_t i = 0; i + most < idle.size(); ++i) beyond.push_back(idle[i].second);
  GiveUpSome(beyond);
}

bool Pool::GiveUp(SegmentId id, Return pages) {
  const auto found = segments_.find(id);
  PENSTOCK_CHECK(found != segments_.end());
  Segment& segment = found->second;
  if (!listener_.give_up(segment)) return false;
  PENSTOCK_FAILPOINT("pool.segment_given_up");
  GiveBack({std::move(segment.memory), std::move(segment.mapping), segment.charged_bytes}, pages);
  for (uint32_t slot : segment.slots) {
    granted_bytes_ -= places_.at(slot).granted;
    places_.erase(slot);
  }
  arenas_[segment.arena].slots -= segment.slots.size();
  charged_bytes_ -= segment.charged_bytes;
  address_bytes_ -= segment.bytes;
  segments_.erase(found);
  return true;
}

void Pool::GiveBack(MappedMemory memory, Return pages) {
  if (pages == Return::kSoon) return returns_->Take(std::move(memory));
  GiveBackWhole(memory);
}

uint64_t Pool::Left() const { return options_.max_bytes - charged_bytes_ - spares_.bytes(); }

uint64_t Pool::MachineHas() const {
  if (!options_.available_bytes) return UINT64_MAX;
  const uint64_t available = options_.available_bytes();
  return available - std::min(available, Untouched());
}

// Pages of segments that are promised, but were never written: the system still counts them as
// available.
uint64_t Pool::Untouched() const {
  uint64_t bytes = 0;
  for (const auto& [id, segment] : segments_) {
    const uint64_t pages = posix::AllocatedBytes(segment.memory).value_or(0);
    bytes += segment.charged_bytes - std::min(segment.charged_bytes, pages);
  }
  return bytes;
}

const SlotPlace& Pool::Place(uint32_t slot) const {
  const auto found = places_.find(slot);
  PENSTOCK_CHECK(found != places_.end());
  return found->second;
}

const Segment* Pool::Find(SegmentId segment) const {
  const auto found = segments_.find(segment);
  return found == segments_.end() ? nullptr : &found->second;
}

Usage Pool::Used() const {
  Usage usage;
  usage.max_bytes = options_.max_bytes;
  usage.segment_bytes = charged_bytes_ + spares_.bytes();
  usage.granted_bytes = granted_bytes_;
  usage.segments = static_cast<uint32_t>(segments_.size());
  for (const SegmentArena& arena : arenas_) {
    usage.reserved_bytes += arena.reserved * arena.layout.promised_bytes();
    usage.slots += static_cast<uint32_t>(arena.slots);
  }
  return usage;
}

std::map<uint32_t, Usage> Pool::UsedByUser() const {
  std::map<uint32_t, Usage> users;
  for (const auto& [id, segment] : segments_) {
    Usage& usage = users[arenas_[segment.arena].user];
    usage.segment_bytes += segment.charged_bytes;
    ++usage.segments;
  }
  for (const SegmentArena& arena : arenas_) {
    if (arena.slots == 0 && arena.reserved == 0) continue;
    Usage& usage = users[arena.user];
    usage.reserved_bytes += arena.reserved * arena.layout.promised_bytes();
    usage.slots += static_cast<uint32_t>(arena.slots);
  }
  return users;
}

}  // namespace penstock::pool
