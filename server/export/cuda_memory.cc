#include "server/export/cuda_memory.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "common/cuda/memory_info.h"
#include "common/cuda/memory_use.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::exporting {
namespace {

constexpr uint64_t kFillBytes = 2u << 20;
// GPU memory to leave free for what trainers still have to create: a context, kernels' workspaces.
constexpr uint64_t kLeftFree = 256u << 20;

absl::Status CheckModes(const cuda::Device& device) {
  if (!device.prohibited) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(device.name, " (", device.uuid.ToString(),
                   ") is in compute mode 'prohibited'; set it to 'default' with nvidia-smi -c 0"));
}

// Exclusive mode: if another process uses the device, creating a context fails, and this explains
// why.
absl::Status Explain(const absl::Status& status, const cuda::Device& device) {
  if (status.ok() || !device.exclusive) return status;
  return base::Annotate(status, absl::StrCat(device.name, " (", device.uuid.ToString(),
                                             ") is in exclusive mode: only one process may use "
                                             "it; set it to 'default' with nvidia-smi -c 0, or "
                                             "have trainers ask for pinned delivery"));
}

}  // namespace

CudaMemory::~CudaMemory() {
  for (auto& [id, slab] : slabs_)
    [[maybe_unused]] auto* const leaked = std::make_unique<cuda::Slab>(std::move(slab)).release();
}

absl::Status CudaMemory::Begin() {
  if (begun()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(cuda::Usable());
  PENSTOCK_ASSIGN_OR_RETURN(device_, cuda::FindDevice(uuid_));
  PENSTOCK_RETURN_IF_ERROR(CheckModes(device_));
  const absl::StatusOr<uint64_t> before = cuda::UsedBytes(uuid_);
  scope_.emplace(device_.ordinal);
  absl::StatusOr<cuda::Stream> stream =
      scope_->status().ok() ? cuda::Stream::Make() : absl::StatusOr<cuda::Stream>(scope_->status());
  if (!stream.ok()) {
    scope_.reset();
    return Explain(stream.status(), device_);
  }
  const absl::StatusOr<uint64_t> after = cuda::UsedBytes(uuid_);
  if (before.ok() && after.ok()) context_bytes_ = *after - std::min(*before, *after);
  stream_.emplace(*std::move(stream));
  return absl::OkStatus();
}

// Asks the device for its free memory rather than computing it, because the slabs of a dead daemon
// live on in its trainers.
absl::Status CudaMemory::CheckFreeMemory(uint64_t bytes) const {
  PENSTOCK_ASSIGN_OR_RETURN(const cuda::MemoryInfo memory_info, cuda::QueryMemory());
  if (bytes + kLeftFree <= memory_info.free_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "batches need ", base::FormatBytes(bytes), " more on ", device_.name, " (",
      device_.uuid.ToString(), "), which has ", base::FormatBytes(memory_info.free_bytes), " of ",
      base::FormatBytes(memory_info.total_bytes), " free, of which ", base::FormatBytes(kLeftFree),
      " are reserved for other programs; end some of them, ask for a smaller depth or batch, or "
      "for pinned delivery (the slabs of a dead daemon are freed when its trainers release their "
      "last batches from it)"));
}

absl::StatusOr<SlabResult> CudaMemory::MakeSlab(const SlabOrder& order) {
  PENSTOCK_RETURN_IF_ERROR(CheckFreeMemory(order.bytes));
  PENSTOCK_ASSIGN_OR_RETURN(cuda::Slab slab, cuda::Slab::Make(order.kind, order.bytes));
  PENSTOCK_FAILPOINT_RETURN("gpu.slab_allocated");
  PENSTOCK_RETURN_IF_ERROR(Fill(slab.data(), order.bytes, std::byte{0}));
  PENSTOCK_RETURN_IF_ERROR(cuda::CopyToDevice(slab.data() + (order.bytes - kCanaryHeadroom),
                                              order.canary.data(), order.canary.size(), stream()));
  PENSTOCK_ASSIGN_OR_RETURN(cuda::Event done, cuda::Event::Make());
  PENSTOCK_RETURN_IF_ERROR(done.Record(stream()));
  PENSTOCK_RETURN_IF_ERROR(done.Wait());

  SlabResult result;
  result.slab = order.slab;
  if (order.kind == cuda::HandleKind::kIpc) {
    result.ipc = slab.ipc_handle();
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(result.descriptor, slab.descriptor().Duplicate());
  }
  PENSTOCK_FAILPOINT_RETURN("gpu.handle_exported");
  result.address = {
      .ordinal = device_.ordinal, .kind = order.kind, .data = slab.data(), .bytes = order.bytes};
  slabs_.insert_or_assign(order.slab, std::move(slab));
  return result;
}

absl::Status CudaMemory::OpenSegment(uint32_t id, const posix::Fd& memory, uint64_t bytes) {
  MappedSegment segment;
  PENSTOCK_ASSIGN_OR_RETURN(segment.mapping,
                            posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite));
  absl::StatusOr<cuda::Registration> registration = cuda::Registration::Make(
      segment.mapping.data(), bytes, cuda::Registration::HostAccess::kReadWrite);
  if (registration.ok()) {
    segment.registration = *std::move(registration);
  } else {
    if (cuda::IsSticky(registration.status())) return registration.status();
    PENSTOCK_LOG(kWarning, "segment_not_pinned", {"segment", id}, {"bytes", bytes},
                 {"reason", registration.status().message()});
  }
  segments_.insert_or_assign(id, std::move(segment));
  PENSTOCK_FAILPOINT("gpu.segment_registered");
  return absl::OkStatus();
}

absl::Status CudaMemory::StartCopy(const CopyOrder& order) {
  const auto segment = segments_.find(order.segment);
  const auto slab = slabs_.find(order.slab);
  if (segment == segments_.end() || slab == slabs_.end())
    return absl::InternalError(absl::StrCat("a copy from segment ", order.segment, " to slab ",
                                            order.slab, ": one of them does not exist"));
  return cuda::CopyToDevice(slab->second.data() + order.slab_offset,
                            segment->second.mapping.data() + order.offset, order.bytes, stream());
}

absl::Status CudaMemory::StartPass(const PassOrder& order) {
  const auto slab = slabs_.find(order.slab);
  if (slab == slabs_.end())
    return absl::InternalError(absl::StrCat("a copy to slab ", order.slab, ": it does not exist"));
  if (!readable_.contains(order.from_slab)) {
    PENSTOCK_RETURN_IF_ERROR(cuda::OpenToCurrent(order.from));
    readable_.insert(order.from_slab);
  }
  return cuda::CopyFromGpu(slab->second.data() + order.slab_offset, order.from, order.from_offset,
                           order.bytes, stream());
}

absl::Status CudaMemory::Poison(uint32_t slab, uint64_t offset, uint64_t bytes) {
  return Fill(slabs_.at(slab).data() + offset, bytes, kPoison);
}

// By copies, because a memset would occupy the trainer's processors.
absl::Status CudaMemory::Fill(std::byte* to, uint64_t bytes, std::byte value) {
  const std::vector<std::byte> piece(std::min(bytes, kFillBytes), value);
  for (uint64_t done = 0; done < bytes; done += piece.size())
    PENSTOCK_RETURN_IF_ERROR(cuda::CopyToDevice(
        to + done, piece.data(), std::min<uint64_t>(piece.size(), bytes - done), stream()));
  PENSTOCK_ASSIGN_OR_RETURN(cuda::Event filled, cuda::Event::Make());
  PENSTOCK_RETURN_IF_ERROR(filled.Record(stream()));
  return filled.Wait();
}

}  // namespace penstock::exporting
