#include <cstring>

#include "tests/support/gpu_decode/fake_nvjpeg.h"

namespace penstock::testing {

std::vector<std::byte> MakeFakeFile(const FakeHeader& header) {
  std::vector<std::byte> file(sizeof header);
  memcpy(file.data(), &header, sizeof header);
  return file;
}

std::vector<uint8_t> FakePixels(const FakeHeader& header) {
  std::vector<uint8_t> pixels;
  pixels.reserve(size_t{3} * header.width * header.height);
  for (uint32_t y = 0; y < header.height; ++y) {
    for (uint32_t x = 0; x < 3 * header.width; ++x) pixels.push_back(FakeValue(header.seed, y, x));
  }
  return pixels;
}

}  // namespace penstock::testing
