// What the kernel reads: a KernelRow for each row, and tables of weights. Includes no CUDA header.
#pragma once

#include <cstdint>

namespace penstock::gpu_decode {

// A block of the kernel makes a tile of 32 columns and `tile_height` rows of the output. High tiles
// cost less for each row, because what a thread needs of its column is read once for a tile.
inline constexpr uint32_t kTileWidth = 32;
inline constexpr uint32_t kMaxTileHeight = 112;
inline constexpr uint32_t kTileStep = 8;  // as many warps make rows side by side
// The rows of the image that a tile's rows may depend on; they lie in shared memory once they are
// resized horizontally.
inline constexpr uint32_t kMaxTileInputs = 192;
// Words are read in groups of four; weights behind an output's last are zeros.
inline constexpr uint32_t kTapsPerGroup = 4;
// Rows of which no output has more taps, nor a negative weight, have a kernel of their own.
inline constexpr uint32_t kMostFewTaps = 6;
// Weights have 22 bits behind the point; in rows of that kernel they have 24, so that a sum's upper
// byte is the result.
inline constexpr uint32_t kPlainShift = 2;
// How far past the end of an image the kernel may read (any value).
inline constexpr uint32_t kImageSlackBytes = 64;

// Offsets are in words of 32 bits, from the beginning of the tables.
struct ColumnsTable {
  uint32_t first = 0;    // for each column of the output, the byte offset of its first input
  uint32_t counts = 0;   // for each column, the number of its inputs
  uint32_t weights = 0;  // weights[tap][column]
  uint32_t taps = 0;     // of the column with the most
};
// For each row of the output a record: its first input, counted from its tile's first, then the
// weights of its inputs. Records have whole groups of words and are aligned to 16 bytes.
struct RowsTable {
  uint32_t records = 0;
  uint32_t counts = 0;
  uint32_t taps = 0;
  uint32_t groups = 0;  // of a record
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
  uint32_t is_plain = 0;     // 1: few taps, no negative weight
  ColumnsTable x = {};
  RowsTable y = {};
};

struct KernelLaunch {
  const KernelRow* rows = nullptr;  // in device memory
  const uint32_t* tables = nullptr;
  uint32_t row_count = 0;
  uint32_t max_tiles = 0;  // of any row
  bool any_plain = true, any_other = true;
  void* stream = nullptr;
};

// Enqueues a launch for plain rows, and one for others, if there are such rows. Returns a
// cudaError_t; 0 is success.
int LaunchRows(const KernelLaunch& launch);

}  // namespace penstock::gpu_decode
