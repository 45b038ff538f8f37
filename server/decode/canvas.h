// Rows that are larger than their images: an image in the upper left corner, and one value beside
// and below it. Pure.
// **Thread safety**: one thread; it keeps its memory between images.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/base/aligned_buffer.h"
#include "common/base/fault.h"
#include "server/augment/image.h"
#include "server/augment/warp/matrix.h"

namespace penstock::decode {

class RowCanvas {
 public:
  // Calls `make` with an image of this size to fill, and puts it into the row. **Errors**:
  // kUnfitSize if the image is larger than the row; std::bad_alloc.
  template <typename Make>
  base::Fault Put(augment::ImageSize size, const augment::ImageView& row, uint8_t fill,
                  const Make& make) {
    if (size.width > row.width || size.height > row.height) return base::Fault::kUnfitSize;
    if (size.width == row.width && size.height == row.height) {
      make(row);
      return base::Fault::kNone;
    }
    augment::ImageView image = {nullptr, size.width, size.height, row.channels};
    buffer_.Reserve(image.bytes());
    image.data = buffer_.data();
    make(image);
    std::memset(row.data, fill, row.bytes());
    for (uint32_t y = 0; y < size.height; ++y) {
      std::memcpy(row.row(y), image.row(y), size_t{image.width} * image.channels);
    }
    return base::Fault::kNone;
  }

 private:
  base::AlignedBuffer buffer_;
};

}  // namespace penstock::decode
