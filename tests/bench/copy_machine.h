// What the suite `copy` works with: host memory of each kind, memory of the GPU, streams. Its owner
// is the suite; one thread.
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

// Rates are GB/s (10⁹ bytes) unless a name says otherwise; errors are CUDA's, or that there is
// none.
class CopyMachine {
 public:
  // `bytes` of each kind, on the current GPU.
  static absl::StatusOr<std::unique_ptr<CopyMachine>> Make(size_t bytes);

  enum class Kind {
    kPinned,    // CUDA's own page-locked memory: the ceiling
    kPageable,  // what a program has that asks for nothing
    kSegment,   // a memfd, registered, as the daemon's pool is
    kReadOnly,  // a consumer's mapping of it, registered read-only
  };
  enum class Waiting { kAtTheEnd, kAfterEach };

  // `count` copies of `bytes` each, through all of the memory.
  absl::StatusOr<double> CopyRate(Kind kind, size_t bytes, int count, Waiting waiting);

  // Batches of the shape are made on the GPU in another stream meanwhile.
  absl::StatusOr<double> CopyRateBesideCompute(size_t bytes, int count);
  // Batches a second that the GPU makes: alone, or while `copies` of `bytes` run.
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
