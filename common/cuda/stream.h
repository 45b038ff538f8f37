// Streams, events and what is put into streams. A `StreamHandle` is a cudaStream_t as CUDA has it,
// owned by whoever made it: null is the legacy default stream, 1 and 2 are CUDA's names for it and
// for the per-thread one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status.h"

namespace penstock::cuda {

using StreamHandle = void*;

// A stream of our own, that waits for no other (non-blocking). Made, used and destroyed with its
// device current. Movable.
class Stream {
 public:
  static absl::StatusOr<Stream> Make();
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

// A plain event of this process, without timing.
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
  absl::Status Wait() const;                         // on the host
  absl::Status MakeWait(StreamHandle stream) const;  // that stream waits; the host does not

 private:
  void* handle_ = nullptr;
};

// True while the stream is being captured into a graph: nothing of ours may be put into it then.
absl::StatusOr<bool> IsCapturing(StreamHandle stream);

// Cut where registered memory has its borders (registration.h).
absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream);
// From one place of the current device to another.
absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream);
// Copies and waits.
absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes, StreamHandle stream);

// When the stream comes to it, writes `value` to `*word`, which is in registered host memory
// (`device_word`: its device address, for GPUs that write by themselves; where they cannot, a host
// function writes to `host_word`).
absl::Status WriteWhenReached(StreamHandle stream, uint64_t* host_word, uint64_t device_word,
                              uint64_t value, bool stream_memory_ops);

// When the stream comes to it, calls `function(argument)` on a thread of the driver; it must call
// nothing of CUDA and never wait.
absl::Status CallWhenReached(StreamHandle stream, void (*function)(void*), void* argument);

// Waits until all that was put into the stream, or into the current device, is done.
absl::Status Synchronize(StreamHandle stream);
absl::Status SynchronizeDevice();

// Times what lies in a stream between Start and Stop, by the GPU's clock. For measurements.
// Movable.
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
  // Waits until Stop's place is reached.
  absl::StatusOr<double> Seconds() const;

 private:
  void* start_ = nullptr;
  void* stop_ = nullptr;
};

}  // namespace penstock::cuda
