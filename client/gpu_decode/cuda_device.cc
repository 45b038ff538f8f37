#include <cuda_runtime_api.h>

#include <unordered_map>
#include <utility>

#include "client/gpu_decode/decode_device.h"
#include "common/base/mutex.h"
#include "common/cuda/device.h"
#include "common/cuda/errors.h"
#include "common/cuda/registration.h"

namespace penstock::gpu_decode {
namespace {

void* AllocateWithCuda(void*, size_t bytes, cuda::StreamHandle) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaSuccess) return memory;
  cuda::Ignore(error);
  return nullptr;
}

void ReleaseWithCuda(void*, void* memory, size_t, cuda::StreamHandle) {
  cuda::Ignore(cudaFree(memory));
}

absl::Status Launched(int error) {
  return cuda::FromRuntime(static_cast<cudaError_t>(error), "launching a kernel that makes rows");
}

class CudaDecodeDevice final : public DecodeDevice {
 public:
  CudaDecodeDevice(cuda::StreamHandle stream, cuda::Event event, const DeviceAllocator& allocator,
                   cuda::Stream owned = {})
      : owned_(std::move(owned)), stream_(stream), event_(std::move(event)), allocator_(allocator) {
    if (allocator_.allocate == nullptr) allocator_ = {AllocateWithCuda, ReleaseWithCuda, nullptr};
  }

  absl::StatusOr<std::unique_ptr<DecodeDevice>> WithOwnStream() const override {
    PENSTOCK_ASSIGN_OR_RETURN(cuda::Stream stream, cuda::Stream::Make(cuda::StreamPriority::kLow));
    PENSTOCK_ASSIGN_OR_RETURN(cuda::Event event, MakeEvent());
    const cuda::StreamHandle handle = stream.get();
    return std::make_unique<CudaDecodeDevice>(handle, std::move(event), allocator_,
                                              std::move(stream));
  }

  // Its Wait sleeps instead of spinning, which would cost a core that may be one of two.
  static absl::StatusOr<cuda::Event> MakeEvent() {
    return cuda::Event::Make(cuda::Event::Waiting::kBlocking);
  }

  cuda::StreamHandle stream() const override { return stream_; }

  void* Allocate(size_t bytes) override {
    return allocator_.allocate(allocator_.context, bytes, stream_);
  }

  void Release(void* memory, size_t bytes) override {
    allocator_.release(allocator_.context, memory, bytes, stream_);
  }

  void* AllocatePinned(size_t bytes) override {
    absl::StatusOr<cuda::PinnedMemory> memory = cuda::PinnedMemory::Make(bytes);
    if (!memory.ok()) return nullptr;
    void* const data = memory->data();
    base::MutexLock lock(mutex_);
    pinned_[data] = std::move(memory).value();
    return data;
  }

  void ReleasePinned(void* memory) override {
    cuda::PinnedMemory released;  // outside of the lock
    base::MutexLock lock(mutex_);
    std::swap(released, pinned_[memory]);
    pinned_.erase(memory);
  }

  absl::Status CopyIn(void* device, const std::byte* host, size_t bytes) override {
    return cuda::CopyToDevice(static_cast<std::byte*>(device), host, bytes, stream_);
  }

  absl::Status CopyOut(std::byte* pinned, const void* device, size_t bytes) override {
    PENSTOCK_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, Stream()),
        "copying the outcomes of decoding");
    return absl::OkStatus();
  }

  absl::Status Clear(void* device, size_t bytes) override {
    PENSTOCK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(device, 0, bytes, Stream()),
                                  "clearing a row that could not be decoded");
    return absl::OkStatus();
  }

  absl::Status MakeRows(const KernelLaunch& launch) override {
    KernelLaunch on_stream = launch;
    on_stream.stream = stream_;
    return Launched(LaunchRows(on_stream));
  }

  absl::Status SetMarks(const MarksLaunch& launch) override {
    MarksLaunch on_stream = launch;
    on_stream.stream = stream_;
    return Launched(LaunchSetMarks(on_stream));
  }

  absl::Status CountMarks(const MarksLaunch& launch) override {
    MarksLaunch on_stream = launch;
    on_stream.stream = stream_;
    return Launched(LaunchCountMarks(on_stream));
  }

  absl::Status Synchronize() override {
    PENSTOCK_RETURN_IF_ERROR(event_.Record(stream_));
    return event_.Wait();
  }

 private:
  cudaStream_t Stream() const { return static_cast<cudaStream_t>(stream_); }

  const cuda::Stream owned_;  // none, if the stream is another's
  const cuda::StreamHandle stream_;
  cuda::Event event_;
  DeviceAllocator allocator_;
  base::Mutex mutex_;
  std::unordered_map<void*, cuda::PinnedMemory> pinned_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<DecodeDevice>> MakeCudaDevice(cuda::StreamHandle stream,
                                                             const DeviceAllocator& allocator) {
  PENSTOCK_RETURN_IF_ERROR(cuda::Usable());
  PENSTOCK_ASSIGN_OR_RETURN(cuda::Event event, CudaDecodeDevice::MakeEvent());
  return std::make_unique<CudaDecodeDevice>(stream, std::move(event), allocator);
}

}  // namespace penstock::gpu_decode
