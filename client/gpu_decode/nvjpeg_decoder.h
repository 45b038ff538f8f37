// nvJPEG's decoder of batches. It never trusts the library to survive a failure: after a call that
// failed, Restart makes everything anew.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/gpu_decode/chunks.h"
#include "client/gpu_decode/counted_memory.h"
#include "client/gpu_decode/nvjpeg.h"
#include "client/gpu_decode/row_maker.h"
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
  // Takes the backend and the chroma from the options. Both kinds of memory outlive the decoder.
  // All work runs on `stream`. Call Restart before anything else.
  NvjpegDecoder(const NvjpegLibrary& library, const RowMakerOptions& options, CountedMemory& memory,
                CountedMemory& pinned, cuda::StreamHandle stream);
  NvjpegDecoder(const NvjpegDecoder&) = delete;
  NvjpegDecoder& operator=(const NvjpegDecoder&) = delete;
  ~NvjpegDecoder();

  // Makes nvJPEG's objects, in place of those there may be. **Requires**: the stream is idle.
  // **Errors**: FailedPrecondition: no engines here; ResourceExhausted: no memory.
  absl::Status Restart();
  bool ready() const { return bitstream_ != nullptr; }  // false after a Restart that failed

  // Why nvJPEG does not decode this file to an image of this size, as far as parsing it tells;
  // empty if it does.
  std::string Objection(std::span<const std::byte> file, const ImageSize& size);

  // Enqueues the decoding of all items, at most RowMakerOptions::max_chunk; files stay valid until
  // the stream has been synchronised, which also must happen before the next call. A single item is
  // decoded in a call of its own; otherwise fillers make all calls equally large.
  // **Errors**: Internal: nvJPEG's own, in words; call Restart.
  absl::Status Decode(std::span<const DecodeItem> items);

 private:
  absl::Status Check(nvjpeg::Code code, absl::string_view what) const;
  absl::Status Prepare(size_t images);
  void Destroy();
  void Add(std::span<const std::byte> file, uint8_t* pixels, uint64_t pitch);

  const NvjpegLibrary library_;
  const nvjpeg::Backend backend_;
  const nvjpeg::Flags flags_;
  const size_t most_images_;
  const cuda::StreamHandle stream_;
  CountedMemory& memory_;
  nvjpeg::DeviceMemoryCalls memory_calls_;
  nvjpeg::PinnedMemoryCalls pinned_calls_;
  nvjpeg::Handle handle_ = nullptr;
  nvjpeg::State state_ = nullptr;
  nvjpeg::Bitstream bitstream_ = nullptr;
  size_t prepared_ = 0;        // images that the state is initialised for
  uint8_t* filler_ = nullptr;  // in device memory: where fillers' pixels go
  std::vector<const unsigned char*> data_;
  std::vector<size_t> bytes_;
  std::vector<nvjpeg::Image> images_;
  std::vector<std::vector<std::byte>> across_;  // copies of files that span two registered pieces
};

}  // namespace penstock::gpu_decode
