// Files for the fake nvJPEG, a library with nvJPEG's functions (fake_nvjpeg.cc) that "decodes" them
// in host memory, and fails as it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::testing {

enum class FakeFault : uint8_t {
  kNone = 0,
  kBadHeader = 1,           // the header cannot be read
  kUnsupported = 2,         // is not supported in batches
  kFailsCall = 3,           // the call fails; images behind this one are not written
  kFailsCallAfter = 4,      // the call fails, although every image was written
  kLeftOut = 5,             // the call succeeds, but the image is not written
  kEndsEarly = 6,           // … but its last block of rows is not
  kLeftOutAmongOthers = 7,  // as kLeftOut, unless the file is alone in its call
  kSpoilsDecoder = 8,       // the call fails, and so does every later one of this decoder
};

// What a fake file consists of.
struct FakeHeader {
  char magic[4] = {'F', 'A', 'K', 'E'};
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t seed = 0;
  FakeFault fault = FakeFault::kNone;
};

std::vector<std::byte> MakeFakeFile(const FakeHeader& header);
// A JPEG file whose first segment, a comment, is a fake file. The fake nvJPEG looks only at that.
std::vector<std::byte> InsertFakeFile(const FakeHeader& header, std::span<const std::byte> jpeg);
inline constexpr size_t kBeforeFakeFile = 6;  // in such a JPEG file

// A value of its pixels.
inline uint8_t FakeValue(uint32_t seed, uint32_t row, uint32_t byte) {
  const uint32_t mixed = (seed * 2654435761u + row) * 2246822519u + byte * 3266489917u;
  return static_cast<uint8_t>(mixed >> 24);
}
std::vector<uint8_t> FakePixels(const FakeHeader& header);

}  // namespace penstock::testing
