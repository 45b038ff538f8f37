#include "server/export/gpu.h"

#include <sys/random.h>

#include <algorithm>
#include <iterator>

#include "common/base/check.h"
#include "common/base/units.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::exporting {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

Canary MakeCanary() {
  Canary canary;
  PENSTOCK_CHECK(getrandom(canary.data(), canary.size(), 0) == static_cast<ssize_t>(canary.size()));
  return canary;
}

// How many slots must still be created for `depth` more reservations.
uint64_t Missing(const DeviceArena& arena, uint32_t depth) {
  const uint64_t needed = arena.slots.reserved() + depth;
  const uint64_t coming = arena.slots.size() + arena.ordered;
  return needed > coming ? needed - coming : 0;
}

}  // namespace

Gpu::Gpu(const cuda::Uuid& uuid, Options options, std::unique_ptr<Copier> copier,
         std::function<uint32_t()> next_slab)
    : uuid_(uuid),
      options_(std::move(options)),
      next_slab_(std::move(next_slab)),
      copier_(std::move(copier)),
      passes_(copier_.get()) {}

Gpu::~Gpu() { CancelAll(absl::UnavailableError("the daemon is stopping")); }

// ---- Reservations. ----

void Gpu::Reserve(const SlotRequest& request, Answer answer) {
  if (absl::Status status = copier_->status(); !status.ok()) return answer(status);
  DeviceArena& arena = ArenaOf({request.user, request.kind, request.slot_bytes});
  Recut(arena, request.depth);
  const uint64_t missing = Missing(arena, request.depth);
  if (missing > 0 && !OrderSlab(arena, missing)) return answer(DoesNotFit(request, missing));
  arena.slots.Reserve(request.depth);
  if (arena.slots.reserved() > arena.slots.size()) {
    waiting_.push_back({request, std::move(answer), &arena, arena.newest});
    return;
  }
  ++reservations_;
  answer(DeviceReservation(this, &arena, request.depth));
}

DeviceArena& Gpu::ArenaOf(const DeviceArenaKey& key) {
  std::unique_ptr<DeviceArena>& arena = arenas_[key];
  if (arena == nullptr)
    arena.reset(new DeviceArena{.key = key, .slots = DeviceSlots(key.slot_bytes, options_.unheld)});
  return *arena;
}

// Reassigns slabs that arenas of the same user and kind but other sizes can spare. Processes that
// have them open need not reopen anything, and one that changes its batch size needs no new slabs.
void Gpu::Recut(DeviceArena& arena, uint32_t depth) {
  for (auto& [id, slab] : slabs_) {
    if (Missing(arena, depth) == 0) return;
    const DeviceArenaKey& from = slab.arena->key;
    if (!slab.made || slab.arena == &arena || from.user != arena.key.user ||
        from.kind != arena.key.kind || slab.facts.canary_offset < arena.key.slot_bytes ||
        !slab.arena->slots.CanSpare(id))
      continue;
    slab.arena->slots.RemoveSlab(id);
    slab.arena = &arena;
    arena.slots.AddSlab(id, slab.facts.canary_offset);
  }
}

// Returns false if the budget does not allow it.
bool Gpu::OrderSlab(DeviceArena& arena, uint64_t slots) {
  const uint64_t left = options_.max_bytes - std::min(options_.max_bytes, SlabBytes());
  if (slots > left / arena.key.slot_bytes) return false;
  const uint64_t bytes =
      RoundUp(slots * arena.key.slot_bytes + kCanaryHeadroom, cuda::kSlabGranule);
  if (bytes > left) return false;

  const uint32_t id = next_slab_();
  HeldSlab& slab = slabs_[id];
  slab.arena = &arena;
  slab.facts = {.id = id,
                .bytes = bytes,
                .kind = arena.key.kind,
                .ipc = {},
                .canary_offset = bytes - kCanaryHeadroom,
                .canary = MakeCanary()};
  arena.ordered += slab.facts.canary_offset / arena.key.slot_bytes;
  arena.newest = id;
  copier_->MakeSlab(
      {.slab = id, .kind = arena.key.kind, .bytes = bytes, .canary = slab.facts.canary});
  PENSTOCK_FAILPOINT("gpu.slab_ordered");
  return true;
}

absl::Status Gpu::DoesNotFit(const SlotRequest& request, uint64_t slots) const {
  const uint64_t used = SlabBytes();
  return absl::ResourceExhaustedError(
      absl::StrCat("the session's ", request.depth, " batches on ", uuid_.ToString(), " need ",
                   slots, " more device slots of ", base::FormatBytes(request.slot_bytes),
                   "; gpu.max is ", base::FormatBytes(options_.max_bytes),
                   ", and slabs that sessions reserve or running "
                   "processes have open take ",
                   base::FormatBytes(used),
                   "; ask for a smaller depth or batch, end trainers, or raise gpu.max"));
}

uint64_t Gpu::SlabBytes() const {
  uint64_t bytes = 0;
  for (const auto& [id, slab] : slabs_) bytes += slab.facts.bytes;
  return bytes;
}

void Gpu::GiveBack(DeviceArena& arena, uint32_t depth) {
  arena.slots.Unreserve(depth);
  --reservations_;
  FreeIdle();
}

// Frees slabs that no living process knows: memory that a process has imported is never freed.
void Gpu::FreeIdle() {
  std::erase_if(slabs_, [this](const decltype(slabs_)::value_type& entry) {
    const HeldSlab& slab = entry.second;
    if (!slab.made || !slab.sent_to.empty() || !slab.arena->slots.CanSpare(entry.first))
      return false;
    slab.arena->slots.RemoveSlab(entry.first);
    copier_->FreeSlab(entry.first);
    PENSTOCK_FAILPOINT("gpu.slab_given_up");
    return true;
  });
}

// ---- Results of the copier. ----

bool Gpu::Collect() {
  Copier::Done done = copier_->Collect();
  for (uint64_t id : done.copies) CopyDone(id);
  for (uint64_t id : done.not_passed) NotPassed(id);
  for (SlabResult& result : done.slabs) SlabIsDone(std::move(result));
  if (const absl::Status status = copier_->status(); !status.ok()) CancelAll(status);
  const bool busy = !done.copies.empty() || !done.slabs.empty() || !done.not_passed.empty();
  if (busy) FreeIdle();
  return busy;
}

void Gpu::CopyDone(uint64_t id) {
  const auto found = copies_.find(id);
  PENSTOCK_CHECK(found != copies_.end());
  const auto [arena, slot] = found->second;
  copies_.erase(found);
  if (passes_.End(id)) ++passes_done_;
  arena->slots.Copied(slot);
  ++copies_done_;
  bytes_done_ += arena->key.slot_bytes;
  PENSTOCK_FAILPOINT("gpu.copy_collected");
}

// Copies from the host instead. Whoever still holds the device slot also has a lease on the host
// slot; if nobody does, the bytes don't matter, but the segment may be gone.
void Gpu::NotPassed(uint64_t id) {
  linked_.emplace();
  const std::optional<CopyOrder> order = passes_.End(id);
  PENSTOCK_CHECK(order.has_value());
  const auto found = copies_.find(id);
  PENSTOCK_CHECK(found != copies_.end());
  const auto [arena, slot] = found->second;
  if (segments_.contains(order->segment)) return copier_->Copy(*order);
  copies_.erase(found);
  arena->slots.Copied(slot);
}

// Slabs are created in the order of the requests. So once this slab exists, the sessions that wait
// for it have all their slots. If it cannot be created, every session that waits in that arena is
// refused, because it may have needed this slab.
void Gpu::SlabIsDone(SlabResult result) {
  HeldSlab& slab = slabs_.at(result.slab);
  DeviceArena& arena = *slab.arena;
  arena.ordered -= slab.facts.canary_offset / arena.key.slot_bytes;
  if (!result.status.ok()) {
    PENSTOCK_LOG(kWarning, "no_slab", {"gpu", uuid_.ToString()}, {"bytes", slab.facts.bytes},
                 {"reason", result.status.message()});
    slabs_.erase(result.slab);
    for (const Waiting& each : TakeWaiting([&](const Waiting& w) { return w.arena == &arena; }))
      Refuse(each, result.status);
    return;
  }
  slab.made = true;
  slab.facts.ipc = result.ipc;
  slab.descriptor = std::move(result.descriptor);
  slab.address = result.address;
  if (!linked_) linked_ = copier_->facts().linked;
  arena.slots.AddSlab(result.slab, slab.facts.canary_offset);
  for (const Waiting& each : TakeWaiting([&](const Waiting& w) { return w.slab == result.slab; })) {
    ++reservations_;
    each.answer(DeviceReservation(this, &arena, each.request.depth));
  }
}

template <typename Predicate>
std::vector<Gpu::Waiting> Gpu::TakeWaiting(Predicate predicate) {
  const auto theirs = std::stable_partition(waiting_.begin(), waiting_.end(),
                                            [&](const Waiting& each) { return !predicate(each); });
  std::vector<Waiting> taken(std::make_move_iterator(theirs),
                             std::make_move_iterator(waiting_.end()));
  waiting_.erase(theirs, waiting_.end());
  return taken;
}

void Gpu::Refuse(const Waiting& waiting, const absl::Status& why) {
  waiting.arena->slots.Unreserve(waiting.request.depth);
  waiting.answer(why);
}

void Gpu::ForgetSegment(uint32_t segment) {
  if (segments_.erase(segment) == 0) return;
  copier_->CloseSegment(segment);
  PENSTOCK_FAILPOINT("gpu.segment_given_up");
}

bool Gpu::Knows(uint64_t peer) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [peer](const Waiting& waiting) { return waiting.request.peer == peer; }) ||
         std::any_of(slabs_.begin(), slabs_.end(),
                     [peer](const auto& entry) { return entry.second.sent_to.contains(peer); });
}

void Gpu::ForgetPeer(uint64_t peer) {
  for (const Waiting& each : TakeWaiting([&](const Waiting& w) { return w.request.peer == peer; }))
    Refuse(each, absl::UnavailableError("the process that asked for the GPU is gone"));
  for (auto& [id, slab] : slabs_) slab.sent_to.erase(peer);
  FreeIdle();
}

void Gpu::CancelAll(const absl::Status& why) {
  for (const Waiting& each : TakeWaiting([](const Waiting&) { return true; })) Refuse(each, why);
}

// ---- Batches. ----

std::optional<DeviceSlotId> Gpu::Take(DeviceArena& arena, const FullSlot& slot) {
  const auto taken = arena.slots.Take({slot.slot, slot.generation});
  if (!taken) return std::nullopt;
  if (taken->found == DeviceSlots::Found::kMustBeCopied) StartCopy(arena, taken->id, slot);
  return taken->id;
}

// The copier gets its own descriptor, so that it can still read the segment when the pool has given
// it up.
void Gpu::StartCopy(DeviceArena& arena, DeviceSlotId id, const FullSlot& slot) {
  if (!segments_.contains(slot.segment)) {
    absl::StatusOr<posix::Fd> memory = slot.memory->Duplicate();
    if (!memory.ok())
      PENSTOCK_LOG(kError, "segment_not_shared", {"reason", memory.status().message()});
    // Without a descriptor, the copier fails and reports why.
    copier_->OpenSegment(slot.segment, memory.ok() ? *std::move(memory) : posix::Fd(),
                         slot.memory_bytes);
    segments_.insert(slot.segment);
  }
  const DevicePlace place = arena.slots.PlaceOf(id);
  copies_[++last_copy_] = {&arena, id};
  const CopyOrder order = {.id = last_copy_,
                           .segment = slot.segment,
                           .offset = slot.offset,
                           .slab = place.slab,
                           .slab_offset = place.offset,
                           .bytes = slot.slot_bytes,
                           .epoch = slot.epoch,
                           .first = slot.first};
  std::optional<HeldBatch> elsewhere;
  if (linked_ && !linked_->empty() && options_.find_elsewhere != nullptr)
    elsewhere = options_.find_elsewhere(*this, arena.key.user, {slot.slot, slot.generation});
  if (elsewhere) {
    passes_.Add(*elsewhere, order);
    passes_.Start();
  } else {
    copier_->Copy(order);
  }
  PENSTOCK_FAILPOINT("gpu.copy_ordered");
}

bool Gpu::LinkedTo(const cuda::Uuid& other) const {
  return linked_ && std::find(linked_->begin(), linked_->end(), other) != linked_->end();
}

std::optional<HeldBatch> Gpu::HoldFor(uint32_t user, const Content& content) {
  for (auto& [key, arena] : arenas_) {
    if (key.user != user) continue;
    if (const std::optional<DeviceSlotId> id = arena->slots.Hold(content))
      return HeldBatch{.gpu = this, .arena = arena.get(), .id = *id};
  }
  return std::nullopt;
}

bool Gpu::Ready(const HeldBatch& batch) const { return batch.arena->slots.Ready(batch.id); }

Gpu::BatchPlace Gpu::PlaceOf(const HeldBatch& batch) const {
  const DevicePlace place = batch.arena->slots.PlaceOf(batch.id);
  return {.slab = place.slab, .address = slabs_.at(place.slab).address, .offset = place.offset};
}

void Gpu::LetGo(DeviceArena& arena, DeviceSlotId id) {
  if (!arena.slots.LetGo(id)) return;
  const DevicePlace place = arena.slots.PlaceOf(id);
  copier_->Poison(place.slab, place.offset, arena.key.slot_bytes);
}

// ---- Status. ----

void Gpu::Tick(base::TimePoint now) {
  if (sampled_ && now - *sampled_ < std::chrono::seconds(1)) return;
  if (sampled_) {
    const double seconds = std::chrono::duration<double>(now - *sampled_).count();
    bytes_per_second_ =
        static_cast<uint64_t>(static_cast<double>(bytes_done_ - bytes_sampled_) / seconds);
  }
  sampled_ = now;
  bytes_sampled_ = bytes_done_;
}

GpuView Gpu::View() const {
  const Copier::CopierFacts facts = copier_->facts();
  const absl::Status status = copier_->status();
  return {.uuid = uuid_.ToString(),
          .name = facts.name,
          .state = status.ok() ? "serving" : std::string(status.message()),
          .sessions = reservations_,
          .slabs = static_cast<uint32_t>(slabs_.size()),
          .slab_bytes = SlabBytes(),
          .slab_bytes_max = options_.max_bytes,
          .context_bytes = facts.context_bytes,
          .copies = copies_done_,
          .copied_bytes = bytes_done_,
          .copied_bytes_per_second = bytes_per_second_,
          .copies_from_gpus = passes_done_};
}

// ---- Device reservations. ----

DeviceReservation::~DeviceReservation() {
  if (gpu_ != nullptr) gpu_->GiveBack(*arena_, depth_);
}

std::optional<DeviceSlotId> DeviceReservation::Take(const FullSlot& slot) {
  return gpu_->Take(*arena_, slot);
}

bool DeviceReservation::Ready(DeviceSlotId id) const { return arena_->slots.Ready(id); }

DevicePlace DeviceReservation::PlaceOf(DeviceSlotId id) const { return arena_->slots.PlaceOf(id); }

void DeviceReservation::LetGo(DeviceSlotId id) { gpu_->LetGo(*arena_, id); }

absl::Status DeviceReservation::status() const { return gpu_->status(); }

absl::StatusOr<std::vector<SlabFacts>> DeviceReservation::SendSlabs(uint64_t peer,
                                                                    const SendSlab& send) {
  std::vector<SlabFacts> facts;
  for (auto& [id, slab] : gpu_->slabs_) {
    if (!slab.made || slab.arena != arena_) continue;
    const bool is_new = slab.sent_to.insert(peer).second;
    if (is_new && slab.facts.kind == cuda::HandleKind::kVmm) {
      if (absl::Status sent = send(slab.facts, slab.descriptor); !sent.ok()) {
        slab.sent_to.erase(peer);
        return base::Annotate(sent, "a slab's descriptor could not be sent");
      }
    }
    if (is_new) PENSTOCK_FAILPOINT("gpu.slab_shared");
    facts.push_back(slab.facts);
  }
  return facts;
}

}  // namespace penstock::exporting
