// The last step of a tensor that is no image: its rows, gathered and cast, into memory that the
// caller gives. On the CPU and on a GPU, with the same bits.
//
// What can be cast: nothing (the same type); whole numbers and bool to int32 and int64, where every
// value fits; float16, bfloat16 and float64 to float32, the last rounded to nearest even. Pure but
// for the stream; any thread.
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
  uint64_t row_stride = 0;          // bytes, of what is read; written rows have no gaps
  const std::byte* data = nullptr;  // aligned to its elements, as every row
  std::byte* into = nullptr;        // aligned to its elements
  uint64_t into_bytes = 0;
};

// InvalidArgument names what cannot be.
absl::Status CheckTensor(const TensorJob& job);

absl::Status Convert(const TensorJob& job);

// Puts one launch into the stream and returns. FailedPrecondition where CUDA cannot be used.
absl::Status ConvertOnDevice(const TensorJob& job, cuda::StreamHandle stream);

}  // namespace penstock::finish
