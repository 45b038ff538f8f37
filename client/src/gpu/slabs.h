// The device memory that the daemon shares with this process. Each slab is opened once for a
// connection and stays open as long, because the daemon frees no slab that this process may have
// open.
//
// **Thread safety**: any thread.
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

// A slab as the daemon offers it. Untrusted: nothing is checked yet.
struct SlabOffer {
  uint32_t id = 0;
  uint64_t bytes = 0;
  HandleKind kind = HandleKind::kAuto;
  std::string handle;  // kIpc only
  uint64_t canary_offset = 0;
  std::string canary;
};

class Slabs {
 public:
  // Returns the descriptor of a kVmm slab that came through the doorway.
  using Descriptor = std::function<absl::StatusOr<posix::Fd>(uint32_t id)>;
  explicit Slabs(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  // Opens the slab unless it is open, and verifies it: its guard bytes (`canary`) must be where the
  // offer says.
  //
  // **Errors**: FailedPrecondition names the slab, the kind of handle and the reason.
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
