// RGBX pixels of part of an image, for formats and orientations that cannot be processed row by
// row. Keeps its memory for the next image, unless it is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace penstock::decode {

class Pixels {
 public:
  // Allocates the pixels; their values are unspecified. Throws std::bad_alloc.
  void Reset(uint32_t width, uint32_t height) {
    stride_ = size_t{4} * width;
    const size_t bytes = stride_ * height;
    if (bytes <= capacity_) return;
    Free();
    data_ = std::make_unique_for_overwrite<uint8_t[]>(bytes);
    capacity_ = bytes;
  }

  // Frees the memory if it is large; the pixels are lost.
  void Release() {
    if (capacity_ > kMostKept) Free();
  }

  size_t stride() const { return stride_; }
  uint8_t* row(uint32_t y) { return data_.get() + stride_ * y; }

 private:
  static constexpr size_t kMostKept = size_t{8} << 20;

  void Free() {
    data_.reset();
    capacity_ = 0;
  }

  std::unique_ptr<uint8_t[]> data_;
  size_t capacity_ = 0;
  size_t stride_ = 0;
};

}  // namespace penstock::decode
