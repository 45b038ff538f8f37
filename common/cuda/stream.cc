#include "common/cuda/stream.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>

#include "common/cuda/driver.h"
#include "common/cuda/errors.h"
#include "common/cuda/registration.h"

namespace penstock::cuda {
namespace {

cudaStream_t ToStream(StreamHandle stream) { return static_cast<cudaStream_t>(stream); }

absl::Status Copy(std::byte* to, const std::byte* from, size_t bytes, cudaMemcpyKind kind,
                  StreamHandle stream, absl::string_view where) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, ToStream(stream));
  if (error == cudaSuccess) return absl::OkStatus();
  return FromRuntime(error, absl::StrCat("copying ", bytes, " bytes ", where));
}

struct HostWrite {
  uint64_t* word;
  uint64_t value;
};

void WriteOnHost(void* argument) {
  const std::unique_ptr<HostWrite> write(static_cast<HostWrite*>(argument));
  std::atomic_ref(*write->word).store(write->value, std::memory_order_release);
}

// On a thread that has not used CUDA yet, the default streams belong to no context.
// cudaFree(nullptr) then makes the runtime's device current, as the runtime does in its own calls,
// and we try again.
CUresult WriteValue(const Driver& driver, CUstream stream, uint64_t word, uint64_t value) {
  const CUresult result = driver.write_value(stream, word, value, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (result != CUDA_ERROR_INVALID_CONTEXT) return result;
  Ignore(cudaFree(nullptr));
  return driver.write_value(stream, word, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

}  // namespace

absl::StatusOr<Stream> Stream::Make(StreamPriority priority) {
  Stream stream;
  cudaStream_t made = nullptr;
  int lowest = 0, highest = 0;
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
                                "asking for the priorities of streams");
  PENSTOCK_RETURN_IF_CUDA_ERROR(
      cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking,
                                   priority == StreamPriority::kLow ? lowest : 0),
      "making a stream");
  stream.handle_ = made;
  return stream;
}

Stream::~Stream() {
  if (handle_ != nullptr) Ignore(cudaStreamDestroy(ToStream(handle_)));
}

absl::StatusOr<bool> IsCapturing(StreamHandle stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(ToStream(stream), &status);
  if (error == cudaErrorStreamCaptureImplicit) {  // the default stream, during a capture elsewhere
    Ignore(error);
    return true;
  }
  PENSTOCK_RETURN_IF_CUDA_ERROR(error, "asking whether the stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream) {
  for (size_t done = 0, here = 0; done < bytes; done += here) {
    here = ToRegistrationBorder(from + done, bytes - done);
    PENSTOCK_RETURN_IF_ERROR(
        Copy(to + done, from + done, here, cudaMemcpyHostToDevice, stream, "to the GPU"));
  }
  return absl::OkStatus();
}

absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream) {
  return Copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream, "on the GPU");
}

absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(
      Copy(to, from, bytes, cudaMemcpyDeviceToHost, stream, "from the GPU to the host"));
  return Synchronize(stream);
}

absl::Status WriteWhenReached(StreamHandle stream, uint64_t* host_word, uint64_t device_word,
                              uint64_t value, bool stream_memory_ops) {
  if (!stream_memory_ops) {
    auto write = std::make_unique<HostWrite>(HostWrite{host_word, value});
    PENSTOCK_RETURN_IF_ERROR(CallWhenReached(stream, WriteOnHost, write.get()));
    static_cast<void>(write.release());  // the host function deletes it
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  return FromDriver(WriteValue(*driver, static_cast<CUstream>(stream), device_word, value),
                    "enqueuing a write on the stream");
}

absl::Status CallWhenReached(StreamHandle stream, void (*function)(void*), void* argument) {
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaLaunchHostFunc(ToStream(stream), function, argument),
                                "enqueuing a host function on the stream");
  return absl::OkStatus();
}

absl::Status Synchronize(StreamHandle stream) {
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(ToStream(stream)), "waiting for a stream");
  return absl::OkStatus();
}

absl::Status SynchronizeDevice() {
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaDeviceSynchronize(), "waiting for the GPU");
  return absl::OkStatus();
}

}  // namespace penstock::cuda
