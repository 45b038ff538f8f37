// The finish of a tensor that is not an image: gathers and casts its rows into the caller's memory,
// on the CPU or on a GPU, with the same bits.
//
// Possible casts: to the same type; integers and bool to int32 and int64, if every value fits;
// float16, bfloat16 and float64 to float32, where float64 is rounded to nearest even.
//
// **Thread safety**: pure, except for the stream; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/dtype.h"
#include "common/base/status.h"
#include "common/cuda/stream.h"

namespace penstock::finish {

struct TensorJob {
  base::DType from = base::DType::kUInt8;
  base::DType to = base::DType::kUInt8;
  uint64_t rows = 0, elements = 0;  // elements of one row
  uint64_t row_stride = 0;          // bytes, of the input; the output has no gaps
  const std::byte* data = nullptr;  // aligned to its elements; so is every row
  std::byte* into = nullptr;        // aligned to its elements
  uint64_t into_bytes = 0;
};

// InvalidArgument names what is invalid.
absl::Status CheckTensor(const TensorJob& job);

absl::Status Convert(const TensorJob& job);

// Enqueues one launch and returns. FailedPrecondition if CUDA cannot be used.
absl::Status ConvertOnDevice(const TensorJob& job, cuda::StreamHandle stream);

}  // namespace penstock::finish
