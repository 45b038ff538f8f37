// Colours → gray, as Pillow's convert("L") does it before anything is cropped or resized. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::decode {

// RGBX pixels, in place: R, G and B become ITU-R 601-2 luma.
void MakeGray(uint8_t* pixels, size_t count);

// RGB pixels whose channels are equal → one of them each.
void TakeOneChannel(const uint8_t* pixels, size_t count, uint8_t* gray);

}  // namespace penstock::decode
