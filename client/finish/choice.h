// Which of the device's kernels finishes a batch, and on how many blocks. Pure.
#pragma once

#include <cstdint>

#include "client/finish/finish.h"

namespace penstock::finish {

enum class Kernel {
  kLinear,       // output in the order of the input, both sides aligned
  kThreePlanes,  // three channels to planes, whole 16-byte stores, both sides aligned
  kTiles,        // anything: a piece of a row at a time through shared memory
};

// A tile's bytes of input; small enough for eight blocks and more on a multiprocessor.
inline constexpr uint32_t kTileBytes = 6144;
inline constexpr uint32_t kThreads = 256;        // of a block of kThreePlanes and kTiles
inline constexpr uint32_t kGroupsPerThread = 4;  // 16-byte stores of a thread of kLinear

struct Choice {
  Kernel kernel = Kernel::kTiles;
  uint32_t threads = kThreads;
  uint64_t blocks = 0;
  uint64_t groups = 0;            // 16-byte stores: of kLinear all, of kThreePlanes a channel's
  uint32_t groups_per_plane = 0;  // of kThreePlanes
  uint32_t tile_pixels = 0;       // of kTiles; a multiple of 16
  uint64_t tiles_per_row = 0;     // of kTiles
};

// For at least one byte. `rows` and `into` are addresses: only their alignment counts.
Choice Choose(Type type, Layout layout, const Shape& shape, uintptr_t rows, uintptr_t into);

// Rows that are computed are always made in tiles.
Choice ChooseTiles(const Shape& shape);

}  // namespace penstock::finish
