// The resources of the suite `copy`: host memory of each kind, GPU memory, streams. Owned by the
// suite; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/finish/on_device.h"
#include "common/cuda/device.h"
#include "common/cuda/registration.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"
#include "common/posix/memory.h"

namespace penstock::bench {

// Rates are in GB/s (10⁹ bytes), unless a name says otherwise. Errors are CUDA's, or that there is
// no CUDA.
class CopyMachine {
 public:
  // Allocates `bytes` of each kind, on the current GPU.
  static absl::StatusOr<std::unique_ptr<CopyMachine>> Make(size_t bytes);

  enum class Kind {
    kPinned,    // CUDA's own page-locked memory: the ceiling
    kPageable,  // ordinary memory
    kSegment,   // a registered memfd, like the daemon's pool
    kReadOnly,  // a consumer's mapping of it, registered read-only
  };
  enum class Waiting { kAtTheEnd, kAfterEach };

  // `count` copies of `bytes` each, cycling through all of the memory.
  absl::StatusOr<double> CopyRate(Kind kind, size_t bytes, int count, Waiting waiting);

  // The same while batches of a fixed shape are made on the GPU in another stream.
  absl::StatusOr<double> CopyRateBesideCompute(size_t bytes, int count);
  // Batches of this shape that the GPU makes per second: alone, or while `copies` copies run.
  absl::StatusOr<double> MakeRate(const Shape& shape, int count);
  absl::StatusOr<double> MakeRateBesideCopies(const Shape& shape, int count, size_t bytes,
                                              int copies);
  // The same batches made by this thread in pinned memory, then copied.
  absl::StatusOr<double> MakeAndCopyRate(const Shape& shape, int count);

 private:
  CopyMachine() = default;

  absl::Status Enqueue(Kind kind, size_t bytes, int count);
  absl::Status Compute(const Shape& shape, int count);
  const std::byte* Host(Kind kind) const;

  size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> pageable_;
  cuda::PinnedMemory pinned_;
  posix::Fd memory_;
  posix::Mapping segment_, read_only_;
  cuda::Registration segment_registration_, read_only_registration_;
  cuda::DeviceMemory target_, made_;
  cuda::Stream copies_, compute_;
  cuda::Stopwatch copy_watch_, compute_watch_;
};

}  // namespace penstock::bench
