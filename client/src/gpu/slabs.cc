#include "client/src/gpu/slabs.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock::client {
namespace {

constexpr size_t kMaxCanaryBytes = 4096;

absl::Status Unopened(const SlabOffer& offer, absl::string_view why) {
  const bool ipc = offer.kind == HandleKind::kIpc;
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon's slab ", offer.id, " of ", offer.bytes, " bytes could not be opened by its ",
      ipc ? "CUDA IPC handle" : "VMM descriptor", ": ", why));
}

// Checks that a slab is a whole number of granules and contains its guard bytes.
absl::Status CheckOffer(const SlabOffer& offer) {
  const size_t canary = offer.canary.size();
  if (offer.bytes == 0 || offer.bytes % cuda::kSlabGranule != 0) {
    return Unopened(offer, "its size is not a multiple of 2 MiB");
  }
  if (canary == 0 || canary > kMaxCanaryBytes || offer.canary_offset > offer.bytes ||
      canary > offer.bytes - offer.canary_offset) {
    return Unopened(offer, absl::StrCat("its ", canary, " guard bytes at offset ",
                                        offer.canary_offset, " do not fit"));
  }
  return absl::OkStatus();
}

absl::Status Prove(const SlabOffer& offer, const Gpu::Memory& memory, Gpu& gpu) {
  std::string got(offer.canary.size(), '\0');
  const absl::Status copied = gpu.CopyToHost(reinterpret_cast<std::byte*>(got.data()),
                                             memory.data() + offer.canary_offset, got.size());
  if (!copied.ok()) return Unopened(offer, copied.message());
  if (got == offer.canary) return absl::OkStatus();
  return Unopened(offer, "the opened memory is not the slab: its guard bytes differ");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gpu::Memory>> Slabs::OpenHandle(const SlabOffer& offer, Gpu& gpu) {
  if (offer.kind == HandleKind::kVmm) {
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd descriptor, descriptor_(offer.id));
    return gpu.OpenVmm(descriptor, offer.bytes);
  }
  cuda::IpcHandle handle;
  if (offer.handle.size() != handle.size()) {
    return absl::InternalError(absl::StrCat("the handle has the wrong size: got ",
                                            offer.handle.size(), " bytes, expected ",
                                            handle.size()));
  }
  std::memcpy(handle.data(), offer.handle.data(), handle.size());
  return gpu.OpenIpc(handle, offer.bytes);
}

// Opens under the lock, once for each slab, so that two sessions do not open it twice.
absl::Status Slabs::Open(const SlabOffer& offer, Gpu& gpu) {
  const base::MutexLock lock(mutex_);
  if (open_.contains(offer.id)) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckOffer(offer));
  absl::StatusOr<std::unique_ptr<Gpu::Memory>> memory = OpenHandle(offer, gpu);
  if (absl::IsUnavailable(memory.status())) return memory.status();
  if (!memory.ok()) return Unopened(offer, memory.status().message());
  PENSTOCK_RETURN_IF_ERROR(Prove(offer, **memory, gpu));
  open_[offer.id] = *std::move(memory);
  return absl::OkStatus();
}

std::shared_ptr<const Gpu::Memory> Slabs::Find(uint32_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : found->second;
}

}  // namespace penstock::client
