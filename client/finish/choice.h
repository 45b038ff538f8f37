// Chooses the GPU kernel that finishes a batch, and its number of blocks. Pure.
#pragma once

#include <cstdint>

#include "client/finish/finish.h"

namespace penstock::finish {

enum class Kernel {
  kLinear,       // output in the order of the input; both aligned
  kThreePlanes,  // three channels to planes in whole 16-byte stores; both aligned
  kTiles,        // any input: through shared memory, one piece of a row for each block
};

// Input bytes of a tile; small enough for eight or more blocks on a multiprocessor.
inline constexpr uint32_t kTileBytes = 6144;
inline constexpr uint32_t kThreads = 256;        // in a block of kThreePlanes or kTiles
inline constexpr uint32_t kGroupsPerThread = 4;  // 16-byte stores of one kLinear thread

struct Choice {
  Kernel kernel = Kernel::kTiles;
  uint32_t threads = kThreads;
  uint64_t blocks = 0;
  uint64_t groups = 0;            // 16-byte stores: kLinear all, kThreePlanes one channel's
  uint32_t groups_per_plane = 0;  // kThreePlanes
  uint32_t tile_pixels = 0;       // kTiles; a multiple of 16
  uint64_t tiles_per_row = 0;     // kTiles
};

// **Requires**: at least one byte. Only the alignment of the addresses `rows` and `into` matters.
Choice Choose(Type type, Layout layout, const Shape& shape, uintptr_t rows, uintptr_t into);

// Computed rows are always made in tiles.
Choice ChooseTiles(const Shape& shape);

}  // namespace penstock::finish
