#include <cstring>

#include "tests/support/gpu_decode/fake_nvjpeg.h"

namespace penstock::testing {

std::vector<std::byte> MakeFakeFile(const FakeHeader& header) {
  std::vector<std::byte> file(sizeof header);
  memcpy(file.data(), &header, sizeof header);
  return file;
}

std::vector<std::byte> InsertFakeFile(const FakeHeader& header, std::span<const std::byte> jpeg) {
  constexpr uint8_t kBefore[kBeforeFakeFile] = {0xFF, 0xD8, 0xFF, 0xFE, 0, 2 + sizeof header};
  const std::vector<std::byte> comment = MakeFakeFile(header);
  const auto before = std::as_bytes(std::span(kBefore));
  std::vector<std::byte> file(before.begin(), before.end());
  file.insert(file.end(), comment.begin(), comment.end());
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
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
