// What batches are made of: named tensors of any type, one row a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/export.h"

namespace penstock {

// What the elements of a tensor are, little endian.
enum class DType : uint32_t {
  kBool = 1,  // one byte, 0 or 1
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

// "uint8", "bfloat16", …: as NumPy and torch call them.
PENSTOCK_EXPORT const char* DTypeName(DType type);
PENSTOCK_EXPORT size_t ElementBytes(DType type);

// Something that each sample of a dataset has.
struct Field {
  std::string name;
  DType type = DType::kUInt8;
  // Of one sample, row-major; empty: a scalar. Where the length is variable, DatasetInfo leaves the
  // first side out, and in a session's batches it is the most that there can be.
  std::vector<uint32_t> shape = {};
  bool variable = false;

  bool operator==(const Field&) const = default;
  size_t elements() const {  // of one sample
    size_t count = 1;
    for (const uint32_t side : shape) count *= side;
    return count;
  }
};

// A field that a session asks for.
struct FieldWish {
  std::string name;
  // Of a field of variable length: elements along its first side, at most. A sample that has more
  // is a bad sample. 0 for the others.
  uint32_t max_length = 0;
  // Wanted although it names places in an image that is cropped or flipped at random (a mask,
  // boxes): it does not follow the image, and is refused otherwise.
  bool as_stored = false;
};

// One tensor of a batch where it lies, to be read only: row i at data + i · row_stride. In host
// memory, or on the GPU that the batch is on. `lengths`: of variable length, how many elements each
// row has along its first side; the others are zero.
struct TensorView {
  const std::byte* data = nullptr;
  uint64_t row_stride = 0;  // bytes
  uint32_t rows = 0;
  const int32_t* lengths = nullptr;
};

// Where a tensor of a batch shall be written: rows × elements, one behind the other, of `type`: the
// field's own; kInt32 or kInt64 for whole numbers that always fit; kFloat32 for any that is a
// float. Memory as of Into.
struct TensorInto {
  uint32_t tensor = 0;  // its place in Session::tensors()
  DType type = DType::kUInt8;
  void* data = nullptr;
  size_t bytes = 0;            // a full batch's for NextInto
  int32_t* lengths = nullptr;  // one for each row; null: not wanted
};

}  // namespace penstock
