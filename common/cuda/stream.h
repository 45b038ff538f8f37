// Streams, events, and operations enqueued on streams. A `StreamHandle` is a cudaStream_t in CUDA's
// representation, owned by whoever created it: null is the legacy default stream; 1 and 2 are
// CUDA's constants for it and for the per-thread default stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status.h"

namespace penstock::cuda {

using StreamHandle = void*;

// kLow: the device prefers the work of other streams.
enum class StreamPriority { kNormal, kLow };

// A stream of our own that does not synchronise with the default stream (non-blocking). Movable.
//
// **Requires**: created, used and destroyed with its device current.
class Stream {
 public:
  static absl::StatusOr<Stream> Make(StreamPriority priority = StreamPriority::kNormal);
  Stream() = default;
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Stream();
  StreamHandle get() const { return handle_; }

 private:
  StreamHandle handle_ = nullptr;
};

// A plain event for use within this process, without timing.
class Event {
 public:
  // kBlocking: Wait sleeps instead of spinning.
  enum class Waiting { kSpinning, kBlocking };
  static absl::StatusOr<Event> Make(Waiting waiting = Waiting::kBlocking);
  Event() = default;
  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Event();

  absl::Status Record(StreamHandle stream);
  absl::StatusOr<bool> Done() const;                 // never waits
  absl::Status Wait() const;                         // blocks the host
  absl::Status MakeWait(StreamHandle stream) const;  // makes that stream wait; the host does not

 private:
  void* handle_ = nullptr;
};

// True while the stream is being captured into a graph: then we must enqueue nothing on it.
absl::StatusOr<bool> IsCapturing(StreamHandle stream);

// Copies, split at the borders of registered memory (registration.h).
absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream);
// Copies within the current device.
absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream);
// Copies and waits.
absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream);

// Enqueues a write of `value` to `*host_word`, which is in registered host memory. `device_word` is
// its device address, for GPUs with `stream_memory_ops`; on other GPUs, a host function writes it.
absl::Status WriteWhenReached(StreamHandle stream, uint64_t* host_word, uint64_t device_word,
                              uint64_t value, bool stream_memory_ops);

// Enqueues a call of `function(argument)` on a driver thread. The function must not call CUDA and
// must never wait.
absl::Status CallWhenReached(StreamHandle stream, void (*function)(void*), void* argument);

// Waits until all work enqueued on the stream, or on the current device, is done.
absl::Status Synchronize(StreamHandle stream);
absl::Status SynchronizeDevice();

// Measures the GPU time between Start and Stop in a stream. For benchmarks. Movable.
class Stopwatch {
 public:
  static absl::StatusOr<Stopwatch> Make();
  Stopwatch() = default;
  Stopwatch(Stopwatch&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), stop_(std::exchange(other.stop_, nullptr)) {}
  Stopwatch& operator=(Stopwatch&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(stop_, other.stop_);
    return *this;
  }
  ~Stopwatch();

  absl::Status Start(StreamHandle stream);
  absl::Status Stop(StreamHandle stream);
  // Waits until the stream has reached Stop.
  absl::StatusOr<double> Seconds() const;

 private:
  void* start_ = nullptr;
  void* stop_ = nullptr;
};

}  // namespace penstock::cuda
