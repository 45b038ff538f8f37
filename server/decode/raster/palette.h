// A palette as Pillow keeps it: an index for which the file has no colour is a shade of gray.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock::decode {

class Palette {
 public:
  Palette() { Clear(); }

  void Clear() {
    for (size_t i = 0; i < colors_.size(); ++i) Set(i, i, i, i);
  }
  void Set(size_t index, size_t red, size_t green, size_t blue) {
    colors_[index] = {static_cast<uint8_t>(red), static_cast<uint8_t>(green),
                      static_cast<uint8_t>(blue), 255};
  }
  // Writes one RGBX pixel.
  void Put(uint8_t index, uint8_t* pixel) const { std::memcpy(pixel, colors_[index].data(), 4); }

 private:
  std::array<std::array<uint8_t, 4>, 256> colors_;
};

}  // namespace penstock::decode
