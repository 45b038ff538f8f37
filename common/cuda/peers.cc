#include "common/cuda/peers.h"

#include <cuda_runtime_api.h>

#include "common/cuda/errors.h"
#include "common/cuda/vmm.h"

namespace penstock::cuda {
namespace {

bool Has(cudaDeviceP2PAttr attribute, int from, int to) {
  int value = 0;
  const cudaError_t error = cudaDeviceGetP2PAttribute(&value, attribute, from, to);
  if (error != cudaSuccess) Ignore(error);
  return error == cudaSuccess && value != 0;
}

// GPUs have atomic operations on each other's memory over NVLink, but not over PCIe.
bool Linked(int from, int to) {
  return Has(cudaDevP2PAttrAccessSupported, from, to) &&
         Has(cudaDevP2PAttrNativeAtomicSupported, from, to);
}

// Opens all memory that cudaMalloc makes on the other device, now and later.
absl::Status EnablePeer(int other) {
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error == cudaSuccess) return absl::OkStatus();
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    Ignore(error);
    return absl::OkStatus();
  }
  return FromRuntimeAs(absl::StatusCode::kFailedPrecondition, error,
                       absl::StrCat("reading memory of GPU ", other));
}

}  // namespace

std::vector<Uuid> LinkedGpus(int ordinal) {
  std::vector<Uuid> linked;
  const absl::StatusOr<std::vector<Device>> devices = Devices();
  if (!devices.ok()) return linked;
  for (const Device& each : *devices)
    if (each.ordinal != ordinal && Linked(ordinal, each.ordinal)) linked.push_back(each.uuid);
  return linked;
}

absl::Status OpenToCurrent(const SlabAddress& slab) {
  PENSTOCK_ASSIGN_OR_RETURN(const int current, CurrentDevice());
  if (slab.kind == HandleKind::kIpc) return EnablePeer(slab.ordinal);
  return vmm::AllowToRead(current, slab.data, slab.bytes);
}

absl::Status CopyFromGpu(std::byte* to, const SlabAddress& from, uint64_t offset, size_t bytes,
                         StreamHandle stream) {
  PENSTOCK_ASSIGN_OR_RETURN(const int current, CurrentDevice());
  PENSTOCK_RETURN_IF_CUDA_ERROR(
      cudaMemcpyPeerAsync(to, current, from.data + offset, from.ordinal, bytes,
                          static_cast<cudaStream_t>(stream)),
      absl::StrCat("copying ", bytes, " bytes from GPU ", from.ordinal, " to GPU ", current));
  return absl::OkStatus();
}

}  // namespace penstock::cuda
