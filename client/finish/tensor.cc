#include "client/finish/tensor.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/finish/cast.h"

namespace penstock::finish {
namespace {

template <typename From, typename To>
void ConvertRow(const std::byte* row, uint64_t elements, std::byte* into) {
  const auto* from = reinterpret_cast<const From*>(row);
  auto* to = reinterpret_cast<To*>(into);
  for (uint64_t i = 0; i < elements; ++i) to[i] = Cast<From, To>::Of(from[i]);
}

void CopyRows(const TensorJob& job, uint64_t row_bytes) {
  if (row_bytes == job.row_stride) {
    std::memcpy(job.into, job.data, job.rows * row_bytes);
    return;
  }
  for (uint64_t row = 0; row < job.rows; ++row)
    std::memcpy(job.into + row * row_bytes, job.data + row * job.row_stride, row_bytes);
}

bool Aligned(const std::byte* at, size_t to) { return reinterpret_cast<uintptr_t>(at) % to == 0; }

}  // namespace

absl::Status CheckTensor(const TensorJob& job) {
  if (!ForCast(job.from, job.to, []<typename From, typename To>() {}))
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no cast from ", base::DTypeName(job.from), " to ", base::DTypeName(job.to),
        "; request the stored type, int32 or int64 for smaller integers, or float32 for floats"));
  unsigned __int128 bytes = base::ElementBytes(job.to);
  bytes = bytes * job.rows * job.elements;  // below 2¹²⁸: the first factor is at most 8
  if (bytes > job.into_bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        job.rows, " rows of ", job.elements, " ", base::DTypeName(job.to), " need ",
        static_cast<uint64_t>(bytes), " bytes, but the memory for them has ", job.into_bytes));
  if (!Aligned(job.into, base::ElementBytes(job.to)))
    return absl::InvalidArgumentError(absl::StrCat("the memory for ", base::DTypeName(job.to),
                                                   " must be aligned to ",
                                                   base::ElementBytes(job.to), " bytes"));
  return absl::OkStatus();
}

absl::Status Convert(const TensorJob& job) {
  PENSTOCK_RETURN_IF_ERROR(CheckTensor(job));
  if (job.from == job.to) {
    CopyRows(job, job.elements * base::ElementBytes(job.from));
    return absl::OkStatus();
  }
  const uint64_t row_bytes = job.elements * base::ElementBytes(job.to);
  ForCast(job.from, job.to, [&]<typename From, typename To>() {
    for (uint64_t row = 0; row < job.rows; ++row)
      ConvertRow<From, To>(job.data + row * job.row_stride, job.elements,
                           job.into + row * row_bytes);
  });
  return absl::OkStatus();
}

}  // namespace penstock::finish
