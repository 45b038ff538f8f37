// All GPUs that sessions of this daemon have asked for, each created on the first request. Also
// remembers which could not be used, and why.
//
// **Thread safety**: called by one thread, the runner's. Nothing here waits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/export/device_request.h"
#include "server/export/gpu.h"
#include "server/export/handle_choice.h"

namespace penstock::exporting {

class Gpus {
 public:
  // Starts the copier for a GPU. Returns at once: whether the GPU can be used shows when the first
  // slab is created.
  using MakeCopier = std::function<absl::StatusOr<std::unique_ptr<Copier>>(const cuda::Uuid& uuid)>;
  struct Options {
    uint64_t max_bytes = 2ull << 30;  // for slabs, per GPU; 0: no session gets any
    uint32_t depth = 3;
    DeviceSlots::Unheld unheld = DeviceSlots::Unheld::kCache;
    MakeCopier make_copier;
  };
  explicit Gpus(Options options) : options_(std::move(options)) {}

  // `changed` is called with the descriptor of a copier's event and whether to watch it.
  void WatchWith(std::function<void(int fd, bool watch)> changed) { watch_ = std::move(changed); }

  struct DeviceOpening {
    uint64_t peer = 0;
    uint32_t user = 0;
    uint64_t slot_bytes = 0;
    DeviceRequest request;
  };
  struct ReservedPlace {
    DeviceReservation reservation;
    HandleChoice handle;
  };
  using Answer = std::function<void(absl::StatusOr<ReservedPlace>)>;
  // Calls `answer` exactly once: at once or in a later Collect.
  //
  // **Errors**: FailedPrecondition and NotFound say why the GPU cannot be used; ResourceExhausted
  // gives the numbers.
  void Reserve(const DeviceOpening& opening, Answer answer);
  bool Collect();

  void ForgetSegment(uint32_t segment);
  void ForgetPeer(uint64_t peer);
  // Whether the peer waits for something here or knows a slab.
  bool Knows(uint64_t peer) const;
  void CancelAll(const absl::Status& why);

  // Not OK once this process has lost a GPU that served sessions.
  absl::Status status() const;
  void Tick(base::TimePoint now);
  std::vector<GpuView> View() const;

 private:
  std::optional<HeldBatch> FindBatch(const Gpu& to, uint32_t user, const Content& content);
  absl::StatusOr<Gpu*> Find(const cuda::Uuid& uuid);
  void Refused(const cuda::Uuid& uuid, const absl::Status& why);
  void DropUnused();

  const Options options_;
  std::function<void(int, bool)> watch_ = [](int, bool) {};
  const ProcessName name_ = OurName();
  uint32_t last_slab_ = 0;
  std::map<cuda::Uuid, std::unique_ptr<Gpu>> gpus_;
  std::map<cuda::Uuid, std::string> refused_;  // the reason by GPU
};

}  // namespace penstock::exporting
