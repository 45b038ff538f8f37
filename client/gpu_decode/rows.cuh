// The kernel that makes rows: resizes crops of decoded images in two passes with 8 bits between
// them, as Pillow does.
//
// A tile's horizontal pass reads the image through the L1 cache, because neighbouring threads read
// nearly the same words; its results, one word for each pixel, lie in shared memory for the
// vertical pass. Sums are exact modulo 2³², so their order does not matter.
//
// Includes no CUDA header, so that a test can run it on a CPU (tests/support/gpu_decode).
#pragma once

#include <cstdint>

#include "client/gpu_decode/kernel_row.h"

namespace penstock::gpu_decode::device {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = 8;
constexpr uint32_t kRowThreads = kWarp * kWarps;
constexpr uint32_t kBlocksPerMultiprocessor = 5;  // as many as fit without spilled registers
constexpr int kHalf = 1 << 21;                    // weights have 22 bits behind the point
// Output rows read their inputs in groups, so up to three beyond the last one.
constexpr uint32_t kSharedRows = kMaxTileInputs + kTapsPerGroup - 1;

static_assert(kTileWidth == kWarp);

// One instruction, where shifts and masks would be two.
__device__ inline uint32_t Byte(uint32_t word, uint32_t index) {
  return __byte_perm(word, 0, 0x4440 + index);
}

// To 0 … 255; one instruction on Hopper.
__device__ inline uint32_t Clip(int sum) {
  return static_cast<uint32_t>(__vimin_s32_relu(sum >> 22, 255));
}

struct ColorSum {
  int red = kHalf, green = kHalf, blue = kHalf;

  __device__ void Add(uint32_t pixel, int weight) {
    red += weight * static_cast<int>(Byte(pixel, 0));
    green += weight * static_cast<int>(Byte(pixel, 1));
    blue += weight * static_cast<int>(Byte(pixel, 2));
  }

  // Four pixels of three bytes.
  __device__ void AddGroup(uint32_t a, uint32_t b, uint32_t c, const int* weights) {
    red += weights[0] * static_cast<int>(Byte(a, 0)) + weights[1] * static_cast<int>(Byte(a, 3)) +
           weights[2] * static_cast<int>(Byte(b, 2)) + weights[3] * static_cast<int>(Byte(c, 1));
    green += weights[0] * static_cast<int>(Byte(a, 1)) + weights[1] * static_cast<int>(Byte(b, 0)) +
             weights[2] * static_cast<int>(Byte(b, 3)) + weights[3] * static_cast<int>(Byte(c, 2));
    blue += weights[0] * static_cast<int>(Byte(a, 2)) + weights[1] * static_cast<int>(Byte(b, 1)) +
            weights[2] * static_cast<int>(Byte(c, 0)) + weights[3] * static_cast<int>(Byte(c, 3));
  }

  __device__ uint32_t Pixel() const { return Clip(red) | Clip(green) << 8 | Clip(blue) << 16; }
};

// The aligned words that hold the bytes from some address on.
struct WordStream {
  const uint32_t* words;
  uint32_t shift;

  __device__ explicit WordStream(const uint8_t* bytes) {
    const auto address = reinterpret_cast<uintptr_t>(bytes);
    words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
    shift = static_cast<uint32_t>(address & 3) * 8;
  }
};

// One pixel of the horizontal pass, with at most 4 · kGroups taps, whose weights are in registers.
template <int kGroups>
__device__ inline uint32_t PixelOf(const uint8_t* bytes, const int (&weights)[4 * kGroups]) {
  const WordStream stream(bytes);
  uint32_t words[3 * kGroups + 1];
#pragma unroll
  for (int i = 0; i < 3 * kGroups + 1; ++i) words[i] = __ldg(stream.words + i);
  ColorSum sum;
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const uint32_t* const w = words + 3 * group;
    sum.AddGroup(__funnelshift_r(w[0], w[1], stream.shift),
                 __funnelshift_r(w[1], w[2], stream.shift),
                 __funnelshift_r(w[2], w[3], stream.shift), weights + 4 * group);
  }
  return sum.Pixel();
}

// The same with any number of taps; `weights` points at the first, `stride` words before the next.
__device__ inline uint32_t PixelOfMany(const uint8_t* bytes, const uint32_t* weights,
                                       uint32_t stride, uint32_t taps) {
  const WordStream stream(bytes);
  const uint32_t* word = stream.words;
  uint32_t last = __ldg(word);
  ColorSum sum;
#pragma unroll 1
  for (uint32_t tap = 0; tap < taps; tap += kTapsPerGroup, word += 3) {
    int four[kTapsPerGroup];
#pragma unroll
    for (uint32_t i = 0; i < kTapsPerGroup; ++i) {
      four[i] = static_cast<int>(__ldg(weights + uint64_t{tap + i} * stride));
    }
    const uint32_t b = __ldg(word + 1), c = __ldg(word + 2), d = __ldg(word + 3);
    sum.AddGroup(__funnelshift_r(last, b, stream.shift), __funnelshift_r(b, c, stream.shift),
                 __funnelshift_r(c, d, stream.shift), four);
    last = d;
  }
  return sum.Pixel();
}

struct TilePlace {
  uint32_t lane, warp;
  uint32_t column;  // of the output, the last one in threads beyond it
  uint32_t across, down;
};

__device__ inline TilePlace PlaceOf(const KernelRow& row, uint32_t tile) {
  TilePlace place;
  place.lane = threadIdx.x % kWarp;
  place.warp = threadIdx.x / kWarp;
  place.across = tile % row.tiles_across;
  place.down = tile / row.tiles_across;
  place.column = min(place.across * kTileWidth + place.lane, row.width - 1);
  return place;
}

// Resizes the tile's inputs horizontally, each warp every eighth row.
template <int kGroups>
__device__ inline void ResizeFew(const KernelRow& row, const uint32_t* tables,
                                 const TilePlace& place, const TileInputs& inputs,
                                 uint32_t* shared) {
  int weights[4 * kGroups];
#pragma unroll
  for (int i = 0; i < 4 * kGroups; ++i) {
    weights[i] = static_cast<int>(__ldg(tables + row.x.weights + i * row.width + place.column));
  }
  const uint8_t* const from = row.from + __ldg(tables + row.x.first + place.column);
  // More loads in flight; with eight weights, registers are scarcer.
#pragma unroll(kGroups == 1 ? 2 : 1)
  for (uint32_t i = place.warp; i < inputs.count; i += kWarps) {
    shared[i * kWarp + place.lane] =
        PixelOf<kGroups>(from + uint64_t{inputs.first + i} * row.pitch, weights);
  }
}

__device__ inline void ResizeMany(const KernelRow& row, const uint32_t* tables,
                                  const TilePlace& place, const TileInputs& inputs,
                                  uint32_t* shared) {
  const uint8_t* const from = row.from + __ldg(tables + row.x.first + place.column);
  const uint32_t taps = __ldg(tables + row.x.counts + place.column);
  for (uint32_t i = place.warp; i < inputs.count; i += kWarps) {
    shared[i * kWarp + place.lane] =
        PixelOfMany(from + uint64_t{inputs.first + i} * row.pitch,
                    tables + row.x.weights + place.column, row.width, taps);
  }
}

// Stores the pixels of a warp side by side. Four pixels are three words, of which each of three
// lanes stores one.
__device__ inline void StorePixels(const KernelRow& row, const TilePlace& place, uint32_t y,
                                   uint32_t pixel) {
  const uint32_t x = place.across * kTileWidth;
  const uint32_t columns = min(kTileWidth, row.width - x);
  uint8_t* const into = row.into + (uint64_t{y} * row.width + x) * 3;
  const uint32_t next = __shfl_down_sync(0xffffffff, pixel, 1);
  if (reinterpret_cast<uintptr_t>(into) % 4 == 0 && columns % 4 == 0) {
    const uint32_t part = place.lane % 4;
    if (part == 3 || place.lane >= columns) return;
    const uint32_t word = pixel >> (8 * part) | next << (24 - 8 * part);
    reinterpret_cast<uint32_t*>(into)[place.lane / 4 * 3 + part] = word;
    return;
  }
  if (place.lane >= columns) return;
  for (int i = 0; i < 3; ++i) into[place.lane * 3 + i] = static_cast<uint8_t>(Byte(pixel, i));
}

// The vertical pass, each warp every eighth row of the tile.
__device__ inline void ResizeRows(const KernelRow& row, const uint32_t* tables,
                                  const TilePlace& place, const TileInputs& inputs,
                                  const uint32_t* shared) {
  const uint32_t end = min(row.height, (place.down + 1) * row.tile_height);
  for (uint32_t y = place.down * row.tile_height + place.warp; y < end; y += kWarps) {
    const uint32_t first = __ldg(tables + row.y.first + y) - inputs.first;
    const uint32_t taps = __ldg(tables + row.y.counts + y);
    const auto* weights =
        reinterpret_cast<const int4*>(tables + row.y.weights) + uint64_t{y} * row.y.groups;
    const uint32_t* pixels = shared + first * kWarp + place.lane;
    ColorSum sum;
    for (uint32_t tap = 0; tap < taps; tap += kTapsPerGroup, pixels += kTapsPerGroup * kWarp) {
      const int4 four = __ldg(weights++);
      sum.Add(pixels[0], four.x);
      sum.Add(pixels[kWarp], four.y);
      sum.Add(pixels[2 * kWarp], four.z);
      sum.Add(pixels[3 * kWarp], four.w);
    }
    StorePixels(row, place, y, sum.Pixel());
  }
}

__device__ inline void MakeTile(const KernelRow& row, const uint32_t* tables, uint32_t tile,
                                uint32_t* shared) {
  const TilePlace place = PlaceOf(row, tile);
  const auto* all = reinterpret_cast<const TileInputs*>(tables + row.tile_inputs);
  const TileInputs inputs = all[place.down];
  if (row.x.groups == 1) {
    ResizeFew<1>(row, tables, place, inputs, shared);
  } else if (row.x.groups == 2) {
    ResizeFew<2>(row, tables, place, inputs, shared);
  } else {
    ResizeMany(row, tables, place, inputs, shared);
  }
  __syncthreads();
  ResizeRows(row, tables, place, inputs, shared);
  __syncthreads();
}

// A tile of one row with too many inputs for shared memory: the warps share them, and their sums
// are added up at the end.
__device__ inline void MakeTallTile(const KernelRow& row, const uint32_t* tables, uint32_t tile,
                                    uint32_t* shared) {
  const TilePlace place = PlaceOf(row, tile);
  const uint32_t y = place.down;
  const uint32_t first = __ldg(tables + row.y.first + y);
  const uint32_t count = __ldg(tables + row.y.counts + y);
  const uint32_t* const y_weights = tables + row.y.weights + uint64_t{y} * row.y.groups * 4;
  const uint8_t* const from = row.from + __ldg(tables + row.x.first + place.column);
  const uint32_t x_taps = __ldg(tables + row.x.counts + place.column);
  ColorSum sum;
  if (place.warp != 0) sum = {0, 0, 0};
  for (uint32_t i = place.warp; i < count; i += kWarps) {
    const uint32_t pixel = PixelOfMany(from + uint64_t{first + i} * row.pitch,
                                       tables + row.x.weights + place.column, row.width, x_taps);
    sum.Add(pixel, static_cast<int>(__ldg(y_weights + i)));
  }
  int* const sums = reinterpret_cast<int*>(shared) + place.lane;
  sums[(place.warp * 3 + 0) * kWarp] = sum.red;
  sums[(place.warp * 3 + 1) * kWarp] = sum.green;
  sums[(place.warp * 3 + 2) * kWarp] = sum.blue;
  __syncthreads();
  if (place.warp == 0) {
    for (uint32_t warp = 1; warp < kWarps; ++warp) {
      sum.red += sums[(warp * 3 + 0) * kWarp];
      sum.green += sums[(warp * 3 + 1) * kWarp];
      sum.blue += sums[(warp * 3 + 2) * kWarp];
    }
    StorePixels(row, place, y, sum.Pixel());
  }
  __syncthreads();
}

// blockIdx.y is the row; its blocks share its tiles.
__global__ void __launch_bounds__(kRowThreads, kBlocksPerMultiprocessor)
    MakeRows(const KernelRow* __restrict__ rows, const uint32_t* __restrict__ tables) {
  __shared__ uint32_t shared[kSharedRows * kWarp];
  const KernelRow& row = rows[blockIdx.y];
  for (uint32_t tile = blockIdx.x; tile < row.tiles; tile += gridDim.x) {
    if (row.tile_height == 0) {
      MakeTallTile(row, tables, tile, shared);
    } else {
      MakeTile(row, tables, tile, shared);
    }
  }
}

}  // namespace penstock::gpu_decode::device
