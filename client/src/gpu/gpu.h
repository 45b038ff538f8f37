// The CUDA operations that sessions need, for one device. An interface, so that sessions are tested
// without a GPU; the real one is in cuda_gpu.h.
//
// Every call works on this device, whichever device is current, and leaves the current device
// unchanged. Returned objects may outlive the Gpu.
//
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/finish/effects/effects.h"
#include "client/finish/finish.h"
#include "client/finish/synthetic.h"
#include "client/finish/tensor.h"
#include "client/gpu_decode/row_maker.h"
#include "common/base/status.h"
#include "common/cuda/device.h"
#include "common/cuda/slab.h"
#include "common/posix/fd.h"
#include "penstock/penstock.h"

namespace penstock::client {

class Gpu {
 public:
  virtual ~Gpu() = default;

  // Device memory, freed by the destructor.
  class Memory {
   public:
    Memory(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
    virtual ~Memory() = default;
    std::byte* data() const { return data_; }
    uint64_t bytes() const { return bytes_; }

   private:
    std::byte* const data_;
    const uint64_t bytes_;
  };

  // Host memory that is registered with the GPU until it is destroyed.
  class Pages {
   public:
    virtual ~Pages() = default;
    virtual absl::StatusOr<uint64_t> DeviceAddress(const std::byte* at) const = 0;
  };

  class Event {
   public:
    virtual ~Event() = default;
    virtual absl::Status Record(Stream stream) = 0;
    virtual absl::Status Wait() const = 0;                   // on the host
    virtual absl::Status MakeWait(Stream stream) const = 0;  // the stream waits
  };

  class OwnStream {
   public:
    virtual ~OwnStream() = default;
    virtual Stream get() const = 0;
  };

  // Makes rows of files and pixels; see gpu_decode::RowMaker. Any thread; calls wait for each
  // other.
  class Rows {
   public:
    virtual ~Rows() = default;
    virtual absl::StatusOr<std::vector<gpu_decode::RowOutcome>> Make(
        const gpu_decode::RowBatch& batch) = 0;
    virtual Stream stream() const = 0;        // on which they are made
    virtual std::string version() const = 0;  // of what decodes
    virtual uint64_t bytes() const = 0;       // of the GPU's memory that it holds

    // Rows that could not be decoded, of all sessions that use this.
    void NoteReplaced() { replaced_.fetch_add(1, std::memory_order_relaxed); }
    uint64_t replaced() const { return replaced_.load(std::memory_order_relaxed); }

   private:
    std::atomic<uint64_t> replaced_{0};
  };

  enum class Access { kReadWrite, kReadOnly };

  virtual int ordinal() const = 0;
  virtual const cuda::Uuid& uuid() const = 0;

  // Opens another process's slab.
  virtual absl::StatusOr<std::unique_ptr<Memory>> OpenIpc(const cuda::IpcHandle& handle,
                                                          uint64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Memory>> OpenVmm(const posix::Fd& descriptor,
                                                          uint64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Memory>> Allocate(uint64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Pages>> Register(std::byte* data, size_t bytes,
                                                          Access access) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> MakeEvent() = 0;
  virtual absl::StatusOr<std::unique_ptr<OwnStream>> MakeStream() = 0;

  // As many as keep its engines busy, each on a stream of its own. `nvjpeg`: the library's path;
  // empty: as the loader finds it.
  virtual absl::StatusOr<std::vector<std::shared_ptr<Rows>>> MakeRowMakers(
      const std::string& nvjpeg) = 0;

  // Copies on a stream of its own, and waits.
  virtual absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes) = 0;

  // The following calls never wait, except Synchronize.
  virtual absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                                    Stream stream) = 0;
  virtual absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                                    Stream stream) = 0;
  virtual absl::Status CallWhenReached(Stream stream, void (*function)(void*), void* argument) = 0;
  virtual absl::StatusOr<bool> IsCapturing(Stream stream) = 0;
  // Whether kernels can write to this memory.
  virtual bool Reaches(const void* memory) = 0;

  struct Finishing {
    finish::Spec spec;
    Shape shape;
    // Set: make rows and labels instead of reading them.
    std::optional<finish::Synthetic> synthetic = {};
    const uint8_t* rows = nullptr;    // all pointers are device memory
    const int64_t* labels = nullptr;  // one for each row
    Into into;
    Effects effects = {};
  };
  virtual absl::Status Finish(const Finishing& job, Stream stream) = 0;

  virtual absl::Status Convert(const finish::TensorJob& job, Stream stream) = 0;

  // A word of registered memory that the stream writes when it reaches this point.
  struct Word {
    uint64_t* host = nullptr;
    uint64_t device = 0;
    uint64_t value = 0;
  };
  virtual absl::Status WriteWhenReached(const Word& word, Stream stream) = 0;

  // Waits for all of the device's work.
  virtual absl::Status Synchronize() = 0;
};

// Take batches in turn; empty: there are no undecoded rows.
using RowMakers = std::vector<std::shared_ptr<Gpu::Rows>>;

// FailedPrecondition while the stream is being captured into a graph: a captured release would run
// again with every launch of the graph.
absl::Status RefuseCapture(Gpu& gpu, Stream stream);

}  // namespace penstock::client
