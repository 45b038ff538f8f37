// Makes rows of a batch on a GPU: JPEG files are decoded by nvJPEG, and one kernel crops, resizes
// and flips them; rows that came as pixels are copied by the GPU's copy engine.
//
// Given the same decoded pixels, a row has the bytes of the CPU's decoder (server/decode), which
// are Pillow's. nvJPEG's pixels differ a little from libjpeg-turbo's; README.md says how much.
//
// **Thread safety**: one thread at a time. Several makers may work at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/interpolation.h"
#include "common/base/status.h"
#include "common/cuda/stream.h"
#include "common/resample/axis.h"

namespace penstock::gpu_decode {

// A JPEG file and what to make of it.
struct JpegRow {
  // In host memory, until MakeRows returns. nvJPEG copies it to the GPU, fastest if it is pinned.
  std::span<const std::byte> file = {};
  uint32_t width = 0;  // of the image, as its header says
  uint32_t height = 0;
  // The box of the image that is resized: `x.in` × `y.in` pixels at (left, top). The axes also say
  // to what size, and which part of the result is the row: x.count × y.count must be the row's
  // size. They are those of decode::Placement.
  uint32_t left = 0;
  uint32_t top = 0;
  resample::Axis x = {};
  resample::Axis y = {};
  bool flip = false;  // mirrors the row horizontally
  base::Interpolation interpolation = base::Interpolation::kBilinear;
};

// A row to make: `pixels`, unless that is null, else `jpeg`.
struct RowInput {
  // A finished row (uint8, height × width × 3) in host memory, fastest if it is pinned. It stays
  // valid until MakeRows returns.
  const uint8_t* pixels = nullptr;
  JpegRow jpeg = {};
};

enum class RowResult : uint8_t {
  kOk = 0,
  kRefused = 1,  // nvJPEG does not decode this kind of file, or JpegRow does not fit the file
  kFailed = 2,   // the file is damaged, or the decoder failed on it alone
};

struct RowOutcome {
  RowResult result = RowResult::kOk;
  std::string why;  // unless kOk
};

// Rows of equal size, one after the other in device memory: uint8, height × width × 3.
struct RowBatch {
  std::span<const RowInput> rows;
  uint32_t height = 0;
  uint32_t width = 0;
  uint8_t* into = nullptr;
};

enum class JpegBackend : uint8_t {
  kEngines = 0,  // the GPU's JPEG engines (A100, H100, H200 and later)
  kCuda = 1,     // kernels and CPU threads; slower, on every GPU
};

// How chroma samples become as many as luma samples. libjpeg-turbo interpolates.
enum class JpegChroma : uint8_t {
  kReplicated = 0,    // as nvJPEG does by itself
  kInterpolated = 1,  // nvJPEG's UPSAMPLING_WITH_INTERPOLATION
};

// Where device memory comes from; by default, cudaMalloc and cudaFree. Work on the stream may still
// use memory that is released, so a cache must keep the stream's order, as torch's does. Called
// while a maker is made, makes rows, or ends, by the threads of all that share an nvJPEG, also with
// nvJPEG's own stream; `context` outlives the last of them.
struct DeviceAllocator {
  void* (*allocate)(void* context, size_t bytes, cuda::StreamHandle stream) = nullptr;  // or null
  void (*release)(void* context, void* memory, size_t bytes, cuda::StreamHandle stream) = nullptr;
  void* context = nullptr;
};

struct RowMakerOptions {
  std::string nvjpeg_path;  // of the library; empty: libnvjpeg.so.13 or .12, as the loader finds it
  JpegBackend backend = JpegBackend::kEngines;
  JpegChroma chroma = JpegChroma::kReplicated;
  // Device memory: for decoded pixels, which bounds the largest image, and for nvJPEG itself, which
  // may take as much pinned host memory, too. With the defaults a maker stays below 512 MiB.
  uint64_t arena_bytes = uint64_t{256} << 20;
  uint64_t nvjpeg_bytes = uint64_t{240} << 20;
  uint32_t max_chunk = 64;              // images that are decoded together; 1 … 256
  cuda::StreamHandle stream = nullptr;  // for all but nvJPEG; give it a low priority
  DeviceAllocator allocator = {};
};

// What happened since a maker was made.
struct RowMakerCounts {
  uint64_t decoded = 0;  // images whose outcome is kOk
  uint64_t refused = 0;
  uint64_t failed = 0;
  uint64_t calls = 0;             // to decode a chunk, or what is left of it
  uint64_t failed_calls = 0;      // each costs a new decoder
  uint64_t unwritten_images = 0;  // decoded without an error, but not as a whole
};

class DecodeDevice;

class RowMaker {
 public:
  // Loads nvJPEG and prepares its decoder on the current device.
  //
  // **Errors**: FailedPrecondition: no CUDA, no nvJPEG, or no JPEG engines for kEngines; says what
  // was tried and what to do. InvalidArgument: options out of range. ResourceExhausted: no memory.
  static absl::StatusOr<RowMaker> Make(const RowMakerOptions& options);
  // The same on a device of the caller's; for tests.
  static absl::StatusOr<RowMaker> MakeOn(std::unique_ptr<DecodeDevice> device,
                                         const RowMakerOptions& options);

  // Another maker, with these options but for the stream, which shares this one's nvJPEG: their
  // calls of it wait for each other, and all else is done at the same time. nvJPEG's memory is
  // counted by this one. The second function is for tests.
  //
  // **Errors**: as Make.
  absl::StatusOr<RowMaker> MakeAnother(cuda::StreamHandle stream) const;
  absl::StatusOr<RowMaker> MakeAnotherOn(std::unique_ptr<DecodeDevice> device) const;

  RowMaker(RowMaker&&) noexcept;
  RowMaker& operator=(RowMaker&&) noexcept;
  ~RowMaker();  // waits for the stream

  // Makes all rows and returns their outcomes, in the order of `batch.rows`. The rows are complete
  // when it returns: it synchronises the stream. A row whose outcome is not kOk has zeros; no other
  // row is affected by it.
  //
  // **Requires**: the device of Make is current, and the stream is not being captured. Nobody
  // changes the files meanwhile, because nvJPEG reads them more than once.
  // **Errors**: InvalidArgument: an empty row; Internal, FailedPrecondition, ResourceExhausted:
  // CUDA or nvJPEG failed for another reason than a file. No row is valid then.
  absl::StatusOr<std::vector<RowOutcome>> MakeRows(const RowBatch& batch);

  // Device memory that this maker and its nvJPEG hold, in bytes, and the most they held; of a maker
  // that MakeAnother made, without nvJPEG's. Any thread may call these.
  uint64_t bytes_in_use() const;
  uint64_t most_bytes_in_use() const;

  const RowMakerCounts& counts() const;
  const RowMakerOptions& options() const;  // those given to Make

  // Such as "nvJPEG 13.0.1, engines, replicated chroma". Part of a feed's fingerprint, because
  // another version may decode to other pixels.
  std::string version() const;

 private:
  class Impl;
  explicit RowMaker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::gpu_decode
