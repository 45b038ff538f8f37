// What the kernel reads: a KernelRow for each row, and tables of weights. Includes no CUDA header.
#pragma once

#include <cstdint>

namespace penstock::gpu_decode {

// A block of the kernel makes a tile of 32 columns and `tile_height` rows of the output.
inline constexpr uint32_t kTileWidth = 32;
inline constexpr uint32_t kMaxTileHeight = 32;
// The rows of the image that a tile's rows may depend on; they lie in shared memory once they are
// resized horizontally.
inline constexpr uint32_t kMaxTileInputs = 192;
// Weights are read in groups of four, the last of which is padded with zeros.
inline constexpr uint32_t kTapsPerGroup = 4;
// Rows of which no output has more taps have a kernel of their own.
inline constexpr uint32_t kMostFewTaps = 6;
// How far past the end of an image the kernel may read (any value).
inline constexpr uint32_t kImageSlackBytes = 64;

// One axis. Offsets are in words of 32 bits, from the beginning of the tables.
struct AxisTable {
  // x: for each column of the row, the byte offset in a row of the image of its first input.
  // y: for each row, its first input, as a row of the image.
  uint32_t first = 0;
  uint32_t counts = 0;  // for each output, the number of its inputs
  // x: weights[tap][column]; y: weights[row][tap], aligned to 16 bytes.
  uint32_t weights = 0;
  uint32_t taps = 0;    // of the output with the most
  uint32_t groups = 0;  // of them
};

// The rows of the image on which a tile depends.
struct TileInputs {
  uint32_t first = 0;
  uint32_t count = 0;
};

struct KernelRow {
  const uint8_t* from = nullptr;  // the image's first pixel
  uint8_t* into = nullptr;
  uint64_t pitch = 0;  // bytes from one row of the image to the next, a multiple of 4
  uint32_t width = 0;  // of the output
  uint32_t height = 0;
  uint32_t tiles_across = 0;
  uint32_t tiles = 0;
  // 0: an output depends on too many rows for shared memory. A tile is then one row high, and its
  // warps share the inputs.
  uint32_t tile_height = 0;
  uint32_t tile_inputs = 0;  // offset of a TileInputs for each row of tiles
  AxisTable x = {};
  AxisTable y = {};
};

struct KernelLaunch {
  const KernelRow* rows = nullptr;  // in device memory
  const uint32_t* tables = nullptr;
  uint32_t row_count = 0;
  uint32_t max_tiles = 0;          // of any row
  uint32_t max_taps = UINT32_MAX;  // of any output
  void* stream = nullptr;
};

// Enqueues a launch for rows of few taps, and, if there are others, one for these. Returns a
// cudaError_t; 0 is success.
int LaunchRows(const KernelLaunch& launch);

}  // namespace penstock::gpu_decode
