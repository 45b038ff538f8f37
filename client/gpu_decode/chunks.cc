#include "client/gpu_decode/chunks.h"

#include "client/gpu_decode/kernel_row.h"
#include "common/base/check.h"

namespace penstock::gpu_decode {
namespace {

constexpr uint64_t kPitchAlignment = 32;

uint64_t RoundedUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

ArenaPlace PlaceImage(const ImageSize& size, uint64_t offset) {
  const uint64_t pitch = RoundedUp(uint64_t{3} * size.width, kPitchAlignment);
  return {offset, pitch, RoundedUp(pitch * size.height + kImageSlackBytes, kArenaAlignment)};
}

std::vector<DecodeChunk> DivideIntoChunks(std::span<const ImageSize> images,
                                          const ChunkLimits& limits) {
  std::vector<DecodeChunk> chunks;
  uint64_t used = 0;
  for (uint32_t i = 0; i < images.size(); ++i) {
    const uint64_t bytes = PlaceImage(images[i], 0).bytes;
    PENSTOCK_CHECK(bytes <= limits.arena_bytes);
    const bool begins = chunks.empty() || chunks.back().count == limits.max_images ||
                        bytes > limits.arena_bytes - used;
    if (begins) {
      chunks.push_back({i, 0});
      used = 0;
    }
    ++chunks.back().count;
    used += bytes;
  }
  return chunks;
}

}  // namespace penstock::gpu_decode
