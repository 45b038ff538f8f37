// Room for a decoded image, as a file that needs no decoding: a binary PPM of 8 bits, upright if
// orientations are applied. Decoding that file gives the same rows, whatever their crop.
#pragma once

#include <cstddef>
#include <span>

namespace penstock::decode {

struct ImageRoom {
  std::span<std::byte> room = {};
  size_t bytes = 0;  // of the file that the decoder wrote there; 0: the image does not fit
};

}  // namespace penstock::decode
