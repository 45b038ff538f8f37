// The finish on a GPU, with one kernel for each function and the same bits as finish.h and
// synthetic.h.
//
// The functions enqueue one launch and return: no allocation, no synchronisation, and nothing is
// copied but parameters.
//
// **Requires**: memory that the device can reach; the stream's device is current.
// **Thread safety**: any thread.
// **Errors**: FailedPrecondition if CUDA cannot be used, or in a build without it.
#pragma once

#include <cstdint>
#include <span>

#include "client/finish/finish.h"
#include "client/finish/synthetic.h"
#include "common/cuda/stream.h"

namespace penstock::finish {

// As Apply. In the same launch, copies `labels` to the front of `labels_into`, unless both are
// empty. Rows and images need no alignment, but 16 bytes is fastest; labels are aligned to 8 bytes.
absl::Status ApplyOnDevice(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                           std::span<const int64_t> labels, std::span<std::byte> into,
                           std::span<int64_t> labels_into, cuda::StreamHandle stream);

// As Synthesize: writes random rows, already finished, into the caller's memory.
absl::Status SynthesizeOnDevice(const Synthetic& what, const Spec& spec, const Shape& shape,
                                std::span<std::byte> into, std::span<int64_t> labels_into,
                                cuda::StreamHandle stream);

}  // namespace penstock::finish
