// One GPU as the daemon's runner sees it: its copier, its slabs and the peers that know them, its
// device slots and their reservations, all within one budget. Created when the first session needs
// that GPU.
//
// **Thread safety**: called by one thread, the runner's. Nothing here waits for the GPU.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/cuda/device.h"
#include "server/export/copier.h"
#include "server/export/delivery.h"
#include "server/export/device_grant.h"
#include "server/export/device_slots.h"
#include "server/export/passes.h"

namespace penstock::exporting {

// Sessions with equal keys share device slots: one user, one slot size, one kind of handle.
struct DeviceArenaKey {
  uint32_t user = 0;
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  uint64_t slot_bytes = 0;
  auto operator<=>(const DeviceArenaKey&) const = default;
};
struct DeviceArena {
  DeviceArenaKey key;
  DeviceSlots slots;
  uint64_t ordered = 0;  // slots in slabs being created
  uint32_t newest = 0;   // the slab requested last
};

// Sends a slab's descriptor to a peer; never blocks.
using SendSlab = std::function<absl::Status(const SlabFacts& slab, const posix::Fd& descriptor)>;

// One session's reservation on a GPU: `depth` device slots among those that the sessions of its
// user share. Returned by the destructor, when it must hold no slot. The GPU outlives it.
class DeviceReservation {
 public:
  DeviceReservation(DeviceReservation&& other) noexcept
      : gpu_(std::exchange(other.gpu_, nullptr)), arena_(other.arena_), depth_(other.depth_) {}
  DeviceReservation& operator=(DeviceReservation&&) = delete;
  ~DeviceReservation();

  uint32_t depth() const { return depth_; }
  const Gpu& gpu() const { return *gpu_; }

  // Holds the device slot that has or will have this content, and starts the copy if nobody did.
  // nullopt: no slot is free now, until copies that nobody waits for end.
  std::optional<DeviceSlotId> Take(const FullSlot& slot);
  bool Ready(DeviceSlotId id) const;
  DevicePlace PlaceOf(DeviceSlotId id) const;
  void LetGo(DeviceSlotId id);
  // Not OK: no copy will complete any more, and why.
  absl::Status status() const;

  // Every slab that its batches may be in, as of now; slabs with a descriptor are sent with `send`.
  // From then on the peer counts as knowing them, so they are not freed while it lives.
  absl::StatusOr<std::vector<SlabFacts>> SendSlabs(uint64_t peer, const SendSlab& send);

 private:
  friend class Gpu;
  DeviceReservation(Gpu* gpu, DeviceArena* arena, uint32_t depth)
      : gpu_(gpu), arena_(arena), depth_(depth) {}
  Gpu* gpu_;
  DeviceArena* arena_;
  uint32_t depth_;
};

struct GpuView {
  std::string uuid, name, state;
  uint32_t sessions = 0, slabs = 0;
  uint64_t slab_bytes = 0, slab_bytes_max = 0, context_bytes = 0;
  uint64_t copies = 0, copied_bytes = 0, copied_bytes_per_second = 0;
  uint64_t copies_from_gpus = 0;  // of `copies`
};

class Gpu {
 public:
  struct Options {
    uint64_t max_bytes = 0;  // for all slabs together
    DeviceSlots::Unheld unheld = DeviceSlots::Unheld::kCache;
    FindElsewhere find_elsewhere = nullptr;
  };
  // `next_slab` returns slab numbers that are unique within this daemon.
  Gpu(const cuda::Uuid& uuid, Options options, std::unique_ptr<Copier> copier,
      std::function<uint32_t()> next_slab);
  ~Gpu();

  const cuda::Uuid& uuid() const { return uuid_; }
  const posix::Fd& event() const { return copier_->event(); }
  absl::Status status() const { return copier_->status(); }

  struct SlotRequest {
    uint64_t peer = 0;
    uint32_t user = 0;
    uint64_t slot_bytes = 0;
    uint32_t depth = 0;
    cuda::HandleKind kind = cuda::HandleKind::kIpc;
  };
  using Answer = std::function<void(absl::StatusOr<DeviceReservation>)>;
  // Calls `answer` exactly once: at once if slots are free, else in a later Collect, when a slab
  // has been created. **Errors**: ResourceExhausted gives the numbers.
  void Reserve(const SlotRequest& request, Answer answer);
  // Processes what the copier completed. False if there was nothing.
  bool Collect();

  // Whether copies from that GPU are faster here than copies from the host.
  bool LinkedTo(const cuda::Uuid& other) const;
  // Holds the batch if it is here or on its way here.
  std::optional<HeldBatch> HoldFor(uint32_t user, const Content& content);
  struct BatchPlace {
    uint32_t slab = 0;
    cuda::SlabAddress address;
    uint64_t offset = 0;
  };
  bool Ready(const HeldBatch& batch) const;
  BatchPlace PlaceOf(const HeldBatch& batch) const;
  void LetGo(DeviceArena& arena, DeviceSlotId id);
  // Starts copies of batches that are complete on other GPUs now. Call when all GPUs have
  // collected.
  void StartPasses() { passes_.Start(); }

  // Call when the pool gives up the segment.
  void ForgetSegment(uint32_t segment);
  // Call when the peer's process is gone: its requests are answered with Unavailable, and slabs
  // that only it knew can be freed.
  void ForgetPeer(uint64_t peer);
  bool Knows(uint64_t peer) const;
  // Answers all waiting requests with `why`.
  void CancelAll(const absl::Status& why);

  // True if the GPU has no slabs, reservations or waiting requests, so that it may be dropped.
  bool Unused() const { return slabs_.empty() && waiting_.empty() && reservations_ == 0; }

  void Tick(base::TimePoint now);
  GpuView View() const;

 private:
  friend class DeviceReservation;
  struct HeldSlab {
    SlabFacts facts;
    DeviceArena* arena = nullptr;
    bool made = false;
    posix::Fd descriptor;
    cuda::SlabAddress address;
    std::set<uint64_t> sent_to;  // peers whose processes may have it open
  };
  // A session that has reserved and waits for the slab with its slots.
  struct Waiting {
    SlotRequest request;
    Answer answer;
    DeviceArena* arena = nullptr;
    uint32_t slab = 0;
  };

  DeviceArena& ArenaOf(const DeviceArenaKey& key);
  void Recut(DeviceArena& arena, uint32_t depth);
  bool OrderSlab(DeviceArena& arena, uint64_t slots);
  void SlabIsDone(SlabResult result);
  void Refuse(const Waiting& waiting, const absl::Status& why);
  template <typename Predicate>
  std::vector<Waiting> TakeWaiting(Predicate predicate);
  void FreeIdle();
  uint64_t SlabBytes() const;
  absl::Status DoesNotFit(const SlotRequest& request, uint64_t slots) const;

  std::optional<DeviceSlotId> Take(DeviceArena& arena, const FullSlot& slot);
  void StartCopy(DeviceArena& arena, DeviceSlotId id, const FullSlot& slot);
  void CopyDone(uint64_t id);
  void NotPassed(uint64_t id);
  void GiveBack(DeviceArena& arena, uint32_t depth);

  const cuda::Uuid uuid_;
  const Options options_;
  const std::function<uint32_t()> next_slab_;
  // never erased: a few numbers each
  std::map<DeviceArenaKey, std::unique_ptr<DeviceArena>> arenas_;
  std::map<uint32_t, HeldSlab> slabs_;
  std::vector<Waiting> waiting_;
  std::set<uint32_t> segments_;  // that the copier has open
  std::unordered_map<uint64_t, std::pair<DeviceArena*, DeviceSlotId>> copies_;  // under way
  uint64_t last_copy_ = 0;
  uint32_t reservations_ = 0;
  uint64_t copies_done_ = 0, bytes_done_ = 0, passes_done_ = 0;
  std::optional<std::vector<cuda::Uuid>> linked_;  // known once there was a slab
  std::optional<base::TimePoint> sampled_;
  uint64_t bytes_sampled_ = 0, bytes_per_second_ = 0;
  std::unique_ptr<Copier> copier_;
  Passes passes_;
};

}  // namespace penstock::exporting
