// The finish on a GPU: the twin of finish.h and synthetic.h, one kernel each, the same bits.
//
// All memory is the device's (or such that it can reach), the device of the stream is current. The
// functions put one launch into the stream and return: no allocation, no synchronisation, no copy
// of anything but parameters. Any thread. FailedPrecondition where CUDA cannot be used, in a build
// without it as well.
#pragma once

#include <cstdint>
#include <span>

#include "client/finish/finish.h"
#include "client/finish/synthetic.h"
#include "common/cuda/stream.h"

namespace penstock::finish {

// As Apply; in the same launch copies `labels` to the first of `labels_into`, unless both are
// empty. Rows and images need no alignment (16 bytes are fastest), labels are aligned to 8 bytes.
absl::Status ApplyOnDevice(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                           std::span<const int64_t> labels, std::span<std::byte> into,
                           std::span<int64_t> labels_into, cuda::StreamHandle stream);

// As Synthesize: writes random rows, finished, straight into the caller's memory.
absl::Status SynthesizeOnDevice(const Synthetic& what, const Spec& spec, const Shape& shape,
                                std::span<std::byte> into, std::span<int64_t> labels_into,
                                cuda::StreamHandle stream);

}  // namespace penstock::finish
