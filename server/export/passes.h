// Batches on their way to one GPU from another, on which they are already or will soon be. So a
// batch that several GPUs of a node want crosses PCIe once.
//
// **Thread safety**: called by one thread, the runner's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "server/export/copier.h"
#include "server/export/device_slots.h"

namespace penstock::exporting {

class Gpu;
struct DeviceArena;

// A batch on a GPU, held there for another GPU. Whoever has it gives it back with Gpu::LetGo.
struct HeldBatch {
  Gpu* gpu = nullptr;
  DeviceArena* arena = nullptr;
  DeviceSlotId id;
};

// Holds a batch on a GPU other than `to` that may give it to `to`, if there is one.
using FindElsewhere =
    std::function<std::optional<HeldBatch>(const Gpu& to, uint32_t user, const Content& content)>;

class Passes {
 public:
  explicit Passes(Copier* copier) : copier_(copier) {}

  // `order` says what to copy if the batch cannot be passed on.
  void Add(const HeldBatch& from, const CopyOrder& order);
  // Starts those whose batches are complete on the other GPU. Call after all GPUs' copiers were
  // asked for what they completed.
  void Start();
  // Ends the pass with this id, if there is one, and gives the other GPU's batch back. Returns
  // the order for it.
  std::optional<CopyOrder> End(uint64_t id);

 private:
  struct Passing {
    HeldBatch from;
    CopyOrder order;
    bool started = false;
  };
  Copier* const copier_;
  std::vector<Passing> passing_;  // at most one for each device slot
};

}  // namespace penstock::exporting
