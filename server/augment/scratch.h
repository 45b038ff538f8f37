// Memory for an operation's intermediate values, which it keeps for the next image.
//
// **Ownership**: the caller's, one per thread. Operations keep no pointer into it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/aligned_buffer.h"

namespace penstock::augment {

class Scratch {
 public:
  // Returns at least `bytes`, aligned to a cache line, with unspecified values. They are valid
  // until the next call. Throws std::bad_alloc.
  uint8_t* Reserve(size_t bytes) {
    buffer_.Reserve(bytes);
    return buffer_.data();
  }

 private:
  base::AlignedBuffer buffer_;
};

}  // namespace penstock::augment
