// Divides a batch's JPEG files into chunks that nvJPEG decodes in one call, and places their pixels
// in the arena. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::gpu_decode {

struct ImageSize {
  uint32_t width = 0;
  uint32_t height = 0;
};

// Where an image's pixels lie: RGB, in rows of `pitch` bytes.
struct ArenaPlace {
  uint64_t offset = 0;
  uint64_t pitch = 0;
  uint64_t bytes = 0;  // up to the next image: rows, slack for the kernel, alignment
};

// The place of an image that begins at `offset`, which is a multiple of kArenaAlignment.
inline constexpr uint64_t kArenaAlignment = 256;
ArenaPlace PlaceImage(const ImageSize& size, uint64_t offset);

struct ChunkLimits {
  uint32_t max_images = 64;
  uint64_t arena_bytes = 0;
};

// Consecutive images [first, first + count).
struct DecodeChunk {
  uint32_t first = 0;
  uint32_t count = 0;
};

// As few chunks as possible, in order, each within the limits.
// **Requires**: every image fits the arena alone.
std::vector<DecodeChunk> DivideIntoChunks(std::span<const ImageSize> images,
                                          const ChunkLimits& limits);

}  // namespace penstock::gpu_decode
