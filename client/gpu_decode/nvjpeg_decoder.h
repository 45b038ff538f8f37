// nvJPEG's decoder of batches, shared by the makers of a loader: each decoder has 14 streams of its
// own, and a process has few connections to the GPU (README.md, "Connections"). It never trusts the
// library to survive a failure: after a call that failed, everything is made anew.
// **Thread safety**: any thread; calls of nvJPEG wait for each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/gpu_decode/decode_device.h"
#include "client/gpu_decode/nvjpeg_handle.h"
#include "client/gpu_decode/nvjpeg_parser.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace penstock::gpu_decode {

// A file, and where its pixels go: RGB, rows of `pitch` bytes, in device memory.
struct DecodeItem {
  std::span<const std::byte> file;
  uint8_t* pixels = nullptr;
  uint64_t pitch = 0;
};

class NvjpegDecoder {
 public:
  // Decodes on streams of its own, beside the device's.
  // **Errors**: FailedPrecondition: no engines here; ResourceExhausted: no memory.
  static absl::StatusOr<std::shared_ptr<NvjpegDecoder>> Make(const DecodeDevice& device,
                                                             const NvjpegLibrary& library,
                                                             const RowMakerOptions& options);
  NvjpegDecoder(const NvjpegDecoder&) = delete;
  NvjpegDecoder& operator=(const NvjpegDecoder&) = delete;
  ~NvjpegDecoder();  // waits for the device

  // A parser that uses this decoder's memory, and ends before it.
  // **Errors**: as Make.
  absl::StatusOr<std::unique_ptr<NvjpegParser>> MakeParser();

  // Decodes all items, at most RowMakerOptions::max_chunk, and returns when their pixels are
  // complete. Calls `meanwhile` at most once, while the engines work, and always unless a call
  // fails. A single item is decoded in a call of its own; otherwise fillers make all calls equally
  // large. Returns what nvJPEG says against a call as a whole, and then no pixel is valid; else
  // nothing.
  //
  // **Requires**: nothing is under way that uses the places of the pixels.
  // **Errors**: the device's; those of Make, if the decoder could not be made anew after a failure,
  // which the next call tries again.
  absl::StatusOr<std::string> Decode(std::span<const DecodeItem> items,
                                     absl::FunctionRef<void()> meanwhile);

  const CountedMemory& memory() const { return memory_.device; }

 private:
  NvjpegDecoder(std::unique_ptr<DecodeDevice> first, std::unique_ptr<DecodeDevice> second,
                const NvjpegLibrary& library, const RowMakerOptions& options);
  absl::Status Restart() PENSTOCK_REQUIRES(mutex_);
  void Destroy() PENSTOCK_REQUIRES(mutex_);
  // A state and the stream of its calls. One lane's engines work while another's calls are made.
  struct Lane {
    std::unique_ptr<DecodeDevice> device;
    nvjpeg::State state = nullptr;  // null after a Restart that failed
    size_t prepared = 0;            // images that the state is initialised for
    bool is_busy = false;           // a call of it may be under way
    // Of its last call.
    std::vector<const unsigned char*> data = {};
    std::vector<size_t> bytes = {};
    std::vector<nvjpeg::Image> images = {};
    // Copies of files that span two registered pieces.
    std::vector<std::vector<std::byte>> across = {};

    void Add(std::span<const std::byte> file, uint8_t* pixels, uint64_t pitch);
    absl::Status Await();
  };
  absl::Status Begin(std::span<const DecodeItem> items, absl::FunctionRef<void()> meanwhile)
      PENSTOCK_REQUIRES(mutex_);
  absl::Status Enqueue(std::span<const DecodeItem> items, size_t images, Lane& lane)
      PENSTOCK_REQUIRES(mutex_);
  absl::Status Prepare(Lane& lane, size_t images) PENSTOCK_REQUIRES(mutex_);
  absl::Status AwaitAll() PENSTOCK_REQUIRES(mutex_);

  const NvjpegLibrary library_;
  const RowMakerOptions options_;
  NvjpegMemory memory_;

  // Held for a whole call, until the engines are done.
  base::Mutex mutex_;
  NvjpegHandle handle_ PENSTOCK_GUARDED_BY(mutex_);
  std::array<Lane, 2> lanes_ PENSTOCK_GUARDED_BY(mutex_);
  bool is_made_ PENSTOCK_GUARDED_BY(mutex_) = false;       // false after a Restart that failed
  uint8_t* filler_ PENSTOCK_GUARDED_BY(mutex_) = nullptr;  // where fillers' pixels go
};

}  // namespace penstock::gpu_decode
