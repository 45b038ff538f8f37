#include "server/decode/gray.h"

namespace penstock::decode {

// Pillow's L24 (src/libImaging/Convert.c): weights 0.299, 0.587 and 0.114 in 16-bit fixed point,
// rounded.
void MakeGray(uint8_t* pixels, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint8_t* pixel = pixels + 4 * i;
    const uint32_t luma =
        (pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16;
    pixel[0] = pixel[1] = pixel[2] = static_cast<uint8_t>(luma);
  }
}

void TakeOneChannel(const uint8_t* pixels, size_t count, uint8_t* gray) {
  for (size_t i = 0; i < count; ++i) gray[i] = pixels[3 * i];
}

}  // namespace penstock::decode
