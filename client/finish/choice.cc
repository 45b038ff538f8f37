#include "client/finish/choice.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/divide.h"

namespace penstock::finish {
namespace {

constexpr uint64_t kStoreBytes = 16;

// A number of whole warps that is also a multiple of the channels. Then all elements that one
// thread writes begin with the same channel.
uint32_t LinearThreads(uint32_t channels) {
  const uint32_t step = std::lcm(channels, 32u);
  return std::max(kThreads / step, 1u) * step;
}

Choice Linear(uint64_t elements, uint64_t per_store, uint32_t channels) {
  Choice choice;
  choice.kernel = Kernel::kLinear;
  choice.threads = LinearThreads(channels);
  choice.groups = elements / per_store;
  const uint64_t per_block = uint64_t{choice.threads} * kGroupsPerThread;
  choice.blocks =
      std::max<uint64_t>(base::DivideUp(choice.groups, per_block), 1);  // one for the tail
  return choice;
}

Choice ThreePlanes(uint64_t rows, uint64_t groups_per_plane) {
  Choice choice;
  choice.kernel = Kernel::kThreePlanes;
  choice.groups_per_plane = static_cast<uint32_t>(groups_per_plane);
  choice.groups = rows * groups_per_plane;
  choice.blocks = base::DivideUp(choice.groups, kThreads);
  return choice;
}

}  // namespace

Choice ChooseTiles(const Shape& shape) {
  const uint64_t pixels = uint64_t{shape.height} * shape.width;
  Choice choice;
  choice.kernel = Kernel::kTiles;
  choice.tile_pixels = kTileBytes / shape.channels / 16 * 16;
  choice.tiles_per_row = base::DivideUp(pixels, choice.tile_pixels);
  choice.blocks = shape.rows * choice.tiles_per_row;
  return choice;
}

Choice Choose(Type type, Layout layout, const Shape& shape, uintptr_t rows, uintptr_t into) {
  const uint64_t pixels = uint64_t{shape.height} * shape.width;
  const uint64_t per_store = kStoreBytes / ElementBytes(type);
  if (rows % per_store != 0 || into % kStoreBytes != 0) return ChooseTiles(shape);
  if (layout == Layout::kNHWC || shape.channels == 1 || pixels == 1) {
    return Linear(shape.rows * pixels * shape.channels, per_store, shape.channels);
  }
  const bool counts_fit = shape.rows * (pixels / per_store) <= std::numeric_limits<int32_t>::max();
  if (shape.channels == 3 && pixels % per_store == 0 && counts_fit) {
    return ThreePlanes(shape.rows, pixels / per_store);
  }
  return ChooseTiles(shape);
}

}  // namespace penstock::finish
