#include "client/gpu_decode/nvjpeg_handle.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::gpu_decode {
namespace {

constexpr int kAllocated = 0, kNotAllocated = 2;  // as cudaSuccess and cudaErrorMemoryAllocation

int AllocateCounted(void* context, void** memory, size_t bytes, void*) {
  *memory = static_cast<CountedMemory*>(context)->Allocate(bytes);
  return *memory != nullptr ? kAllocated : kNotAllocated;
}

int ReleaseCounted(void* context, void* memory, size_t, void*) {
  static_cast<CountedMemory*>(context)->Release(memory);
  return kAllocated;
}

}  // namespace

NvjpegHandle::NvjpegHandle(const NvjpegLibrary& library, const RowMakerOptions& options,
                           NvjpegMemory& memory)
    : library_(library),
      backend_(options.backend == JpegBackend::kEngines ? nvjpeg::kHardware : nvjpeg::kGpuHybrid),
      flags_(options.chroma == JpegChroma::kInterpolated ? nvjpeg::kInterpolatedUpsampling
                                                         : nvjpeg::kNoFlags),
      memory_calls_{AllocateCounted, ReleaseCounted, &memory.device},
      pinned_calls_{AllocateCounted, ReleaseCounted, &memory.pinned} {}

absl::Status NvjpegHandle::Start() {
  return Check(calls().create(backend_, &memory_calls_, &pinned_calls_, flags_, &handle_),
               "making a decoder");
}

void NvjpegHandle::Stop() {
  if (handle_ != nullptr) calls().destroy(handle_);
  handle_ = nullptr;
}

absl::Status NvjpegHandle::Check(nvjpeg::Code code, absl::string_view what) const {
  if (code == nvjpeg::kSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat("nvJPEG ", library_.version, ": ", what, ": ", nvjpeg::ToText(code));
  if (code == nvjpeg::kAllocatorFailure) return absl::ResourceExhaustedError(message);
  if (code == nvjpeg::kArchMismatch) {
    return absl::FailedPreconditionError(
        absl::StrCat(message,
                     "; A100, H100, H200 and later have engines, and a container needs the "
                     "driver capability \"video\"; or decode on the CPU"));
  }
  return absl::InternalError(message);
}

}  // namespace penstock::gpu_decode
