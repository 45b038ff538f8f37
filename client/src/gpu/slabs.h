// The device memory that the daemon shares with this process, opened: each slab once a connection,
// and kept as long as that, because the daemon frees none while this process may have it. Any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/src/gpu/gpu.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "penstock/penstock.h"

namespace penstock::client {

// A slab as the daemon names it. Foreign: nothing of it is checked yet.
struct SlabOffer {
  uint32_t id = 0;
  uint64_t bytes = 0;
  HandleKind kind = HandleKind::kAuto;
  std::string handle;  // of kIpc
  uint64_t canary_offset = 0;
  std::string canary;
};

class Slabs {
 public:
  // Gives the descriptor that came through the doorway for a slab, of kVmm.
  using Descriptor = std::function<absl::StatusOr<posix::Fd>(uint32_t id)>;
  explicit Slabs(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  // Opens what is offered and not open yet, and proves it: the canary has to be where the offer
  // says. FailedPrecondition names the slab, the kind of handle and what went wrong.
  absl::Status Open(const SlabOffer& offer, Gpu& gpu);

  std::shared_ptr<const Gpu::Memory> Find(uint32_t id);

 private:
  absl::StatusOr<std::unique_ptr<Gpu::Memory>> OpenHandle(const SlabOffer& offer, Gpu& gpu);

  const Descriptor descriptor_;
  base::Mutex mutex_;
  // Shared with the attachments that use them.
  std::map<uint32_t, std::shared_ptr<const Gpu::Memory>> open_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
