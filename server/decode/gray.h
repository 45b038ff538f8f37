// Converts colour to gray, as Pillow's convert("L") does before cropping and resizing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::decode {

// Converts RGBX pixels in place: R, G and B become ITU-R 601-2 luma.
void MakeGray(uint8_t* pixels, size_t count);

// Reduces RGB pixels with equal channels to one channel.
void TakeOneChannel(const uint8_t* pixels, size_t count, uint8_t* gray);

}  // namespace penstock::decode
