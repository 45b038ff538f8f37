// One GPU as the daemon's runner sees it: its copier, its slabs and who was told of them, its
// device slots and who reserved them. Within one budget; made when the first session needs that
// GPU. One thread (the runner's) calls it, and nothing here waits for the GPU.
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
#include "server/export/device_slots.h"

namespace penstock::exporting {

class Gpu;

// What may share device slots: one user's, of one size, by one kind of handle.
struct DeviceArenaKey {
  uint32_t user = 0;
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  uint64_t slot_bytes = 0;
  auto operator<=>(const DeviceArenaKey&) const = default;
};
struct DeviceArena {
  DeviceArenaKey key;
  DeviceSlots slots;
  uint64_t ordered = 0;  // slots of slabs that are being made
  uint32_t newest = 0;   // the slab that was ordered last
};

// A slab as a consumer is told of it.
struct SlabFacts {
  uint32_t id = 0;
  uint64_t bytes = 0;
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  cuda::IpcHandle ipc = {};  // of kIpc
  uint64_t canary_offset = 0;
  Canary canary = {};
};

// Sends a slab's descriptor to a peer; never blocks.
using SendSlab = std::function<absl::Status(const SlabFacts& slab, const posix::Fd& descriptor)>;

// One session's place on a GPU: as many device slots as its depth, among those that all sessions of
// its user share. Given back at destruction, when it must hold none. The GPU outlives it.
class DeviceSeat {
 public:
  DeviceSeat(DeviceSeat&& other) noexcept
      : gpu_(std::exchange(other.gpu_, nullptr)), arena_(other.arena_), depth_(other.depth_) {}
  DeviceSeat& operator=(DeviceSeat&&) = delete;
  ~DeviceSeat();

  uint32_t depth() const { return depth_; }
  const Gpu& gpu() const { return *gpu_; }

  // Holds the device slot that has this content or will have it; the copy is started where nobody
  // did. Nothing when there is none now: copies that nobody waits for are still to end.
  std::optional<DeviceSlotId> Take(const FullSlot& slot);
  bool Ready(DeviceSlotId id) const;
  DevicePlace PlaceOf(DeviceSlotId id) const;
  void LetGo(DeviceSlotId id);
  // Why no copy completes any more, if so; for good.
  absl::Status status() const;

  // Every slab that its batches may be in, as of now. The peer counts as told of them from here on,
  // and of those that go by descriptor as soon as that is sent.
  absl::StatusOr<std::vector<SlabFacts>> TellSlabs(uint64_t peer, const SendSlab& send);

 private:
  friend class Gpu;
  DeviceSeat(Gpu* gpu, DeviceArena* arena, uint32_t depth)
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
};

class Gpu {
 public:
  struct Options {
    uint64_t max_bytes = 0;  // of all slabs together
    DeviceSlots::Unheld unheld = DeviceSlots::Unheld::kCache;
  };
  // `next_slab` gives each slab a number that no other of this daemon ever has.
  Gpu(const cuda::Uuid& uuid, Options options, std::unique_ptr<Copier> copier,
      std::function<uint32_t()> next_slab);
  ~Gpu();

  const cuda::Uuid& uuid() const { return uuid_; }
  const posix::Fd& event() const { return copier_->event(); }
  absl::Status status() const { return copier_->status(); }

  struct Wish {
    uint64_t peer = 0;
    uint32_t user = 0;
    uint64_t slot_bytes = 0;
    uint32_t depth = 0;
    cuda::HandleKind kind = cuda::HandleKind::kIpc;
  };
  using Answer = std::function<void(absl::StatusOr<DeviceSeat>)>;
  // Answers exactly once: at once where there is room, else within a later Collect, when a slab was
  // made. ResourceExhausted has the numbers.
  void Reserve(const Wish& wish, Answer answer);
  // What the copier did. False when nothing.
  bool Collect();

  // The pool gives it up.
  void ForgetSegment(uint32_t segment);
  // Its process is gone: what it waits for is answered Unavailable, and slabs that only it was told
  // of can go.
  void ForgetPeer(uint64_t peer);
  bool Knows(uint64_t peer) const;
  // Answers all that wait.
  void CancelAll(const absl::Status& why);

  // Nothing was ever made here, and nobody waits: this GPU may be dropped.
  bool Unused() const { return slabs_.empty() && waiting_.empty() && seats_ == 0; }

  void Tick(base::TimePoint now);
  GpuView View() const;

 private:
  friend class DeviceSeat;
  struct Slab {
    SlabFacts facts;
    DeviceArena* arena = nullptr;
    bool made = false;
    posix::Fd descriptor;
    std::set<uint64_t> told;  // peers whose process may have it open
  };
  // A session that has reserved and waits for the slab in which its slots will be.
  struct Waiting {
    Wish wish;
    Answer answer;
    DeviceArena* arena = nullptr;
    uint32_t slab = 0;
  };

  DeviceArena& ArenaOf(const DeviceArenaKey& key);
  void Recut(DeviceArena& arena, uint32_t depth);
  bool OrderSlab(DeviceArena& arena, uint64_t slots);
  void SlabIsDone(SlabResult result);
  void Refuse(Waiting waiting, const absl::Status& why);
  template <typename Predicate>
  std::vector<Waiting> TakeWaiting(Predicate predicate);
  void FreeIdle();
  uint64_t SlabBytes() const;
  absl::Status DoesNotFit(const Wish& wish, uint64_t slots) const;

  std::optional<DeviceSlotId> Take(DeviceArena& arena, const FullSlot& slot);
  void StartCopy(DeviceArena& arena, DeviceSlotId id, const FullSlot& slot);
  void LetGo(DeviceArena& arena, DeviceSlotId id);
  void GiveBack(DeviceArena& arena, uint32_t depth);

  const cuda::Uuid uuid_;
  const Options options_;
  const std::function<uint32_t()> next_slab_;
  std::map<DeviceArenaKey, std::unique_ptr<DeviceArena>> arenas_;  // kept: a few numbers each
  std::map<uint32_t, Slab> slabs_;
  std::vector<Waiting> waiting_;
  std::set<uint32_t> segments_;  // that the copier has open
  std::unordered_map<uint64_t, std::pair<DeviceArena*, DeviceSlotId>> copies_;  // under way
  uint64_t last_copy_ = 0;
  uint32_t seats_ = 0;
  uint64_t copies_done_ = 0, bytes_done_ = 0;
  std::optional<base::TimePoint> sampled_;
  uint64_t bytes_sampled_ = 0, bytes_per_second_ = 0;
  std::unique_ptr<Copier> copier_;
};

}  // namespace penstock::exporting
