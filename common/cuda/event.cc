// The events of stream.h, with and without timing.
#include <cuda_runtime_api.h>

#include "common/cuda/errors.h"
#include "common/cuda/stream.h"

namespace penstock::cuda {
namespace {

cudaEvent_t ToEvent(void* handle) { return static_cast<cudaEvent_t>(handle); }

absl::StatusOr<void*> MakeEvent(unsigned int flags) {
  cudaEvent_t event = nullptr;
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, flags), "making an event");
  return static_cast<void*>(event);
}

void Destroy(void* handle) {
  if (handle != nullptr) Ignore(cudaEventDestroy(ToEvent(handle)));
}

absl::Status RecordEvent(void* handle, StreamHandle stream) {
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaEventRecord(ToEvent(handle), static_cast<cudaStream_t>(stream)),
                                "recording an event");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Event> Event::Make(Waiting waiting) {
  const unsigned int flags =
      cudaEventDisableTiming | (waiting == Waiting::kBlocking ? cudaEventBlockingSync : 0);
  Event event;
  PENSTOCK_ASSIGN_OR_RETURN(event.handle_, MakeEvent(flags));
  return event;
}

Event::~Event() { Destroy(handle_); }

absl::Status Event::Record(StreamHandle stream) { return RecordEvent(handle_, stream); }

absl::StatusOr<bool> Event::Done() const {
  const cudaError_t error = cudaEventQuery(ToEvent(handle_));
  if (error == cudaErrorNotReady) {
    Ignore(error);
    return false;
  }
  PENSTOCK_RETURN_IF_CUDA_ERROR(error, "looking at an event");
  return true;
}

absl::Status Event::Wait() const {
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(ToEvent(handle_)), "waiting for an event");
  return absl::OkStatus();
}

absl::Status Event::MakeWait(StreamHandle stream) const {
  PENSTOCK_RETURN_IF_CUDA_ERROR(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), ToEvent(handle_), 0),
      "making a stream wait for an event");
  return absl::OkStatus();
}

absl::StatusOr<Stopwatch> Stopwatch::Make() {
  Stopwatch watch;
  PENSTOCK_ASSIGN_OR_RETURN(watch.start_, MakeEvent(cudaEventDefault));
  PENSTOCK_ASSIGN_OR_RETURN(watch.stop_, MakeEvent(cudaEventDefault));
  return watch;
}

Stopwatch::~Stopwatch() {
  Destroy(start_);
  Destroy(stop_);
}

absl::Status Stopwatch::Start(StreamHandle stream) { return RecordEvent(start_, stream); }

absl::Status Stopwatch::Stop(StreamHandle stream) { return RecordEvent(stop_, stream); }

absl::StatusOr<double> Stopwatch::Seconds() const {
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(ToEvent(stop_)), "waiting for an event");
  float milliseconds = 0;
  PENSTOCK_RETURN_IF_CUDA_ERROR(
      cudaEventElapsedTime(&milliseconds, ToEvent(start_), ToEvent(stop_)), "timing a stream");
  return static_cast<double>(milliseconds) / 1e3;
}

}  // namespace penstock::cuda
