// Draws a picture with the statistics of a photograph from a seed: smooth light, several octaves of
// noise that fall off like the spectra of natural images, a few shapes with hard edges, a little
// grain. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::examples {

struct Photograph {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint8_t> rgb = {};  // height × width × 3
};

// The same seed gives the same bytes on every machine: all arithmetic is integer or exactly
// rounded.
Photograph DrawPhotograph(uint64_t seed);

// SplitMix64 (Steele, Lea and Flood, 2014): maps a counter to a well mixed number.
uint64_t Mix(uint64_t value);

}  // namespace penstock::examples
