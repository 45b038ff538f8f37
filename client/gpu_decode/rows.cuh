// The kernels that make rows: resize crops of decoded images in two passes with 8 bits between
// them, as Pillow does.
//
// A tile's horizontal pass reads the image through the L1 cache, because neighbouring threads read
// nearly the same words; its results, one word for each pixel, lie in shared memory for the
// vertical pass. Sums are exact modulo 2³², so their order does not matter.
//
// Includes no CUDA header, so that a test can run them on a CPU (tests/support/gpu_decode).
#pragma once

#include <cstdint>

#include "client/gpu_decode/kernel_row.h"

namespace penstock::gpu_decode::device {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = 8;
constexpr uint32_t kRowThreads = kWarp * kWarps;
// As many blocks of a multiprocessor as fit, by their shared memory and without spilled registers.
// Few taps need fewer registers, and more blocks hide more of the time that loads take.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
constexpr uint32_t kBlocksOfManyTaps = 3, kBlocksOfFewTaps = 3;  // 100 KiB of shared memory
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 800
constexpr uint32_t kBlocksOfManyTaps = 5, kBlocksOfFewTaps = 6;  // 164 KiB
#else
constexpr uint32_t kBlocksOfManyTaps = 5, kBlocksOfFewTaps = 8;  // 228 KiB
#endif
constexpr int kHalf = 1 << 21;          // weights have 22 bits behind the point
constexpr uint32_t kMostKnownTaps = 8;  // for which there is code of its own
// Output rows read as many inputs as the one with the most, so up to seven beyond the last.
constexpr uint32_t kSharedRows = kMaxTileInputs + kMostKnownTaps - 1;

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

  // The bytes of a pixel lie anywhere in `words`; `at` is known when this is compiled.
  __device__ void AddAt(const uint32_t* words, int at, int weight) {
    red += weight * static_cast<int>(Byte(words[at / 4], at % 4));
    green += weight * static_cast<int>(Byte(words[(at + 1) / 4], (at + 1) % 4));
    blue += weight * static_cast<int>(Byte(words[(at + 2) / 4], (at + 2) % 4));
  }

  __device__ uint32_t Pixel() const { return Clip(red) | Clip(green) << 8 | Clip(blue) << 16; }
};

// The aligned words that hold a column's bytes, in the image's first row. A row has whole words, so
// the bytes begin at the same place of a word in all rows.
struct WordStream {
  const uint32_t* words;
  uint32_t shift;

  __device__ explicit WordStream(const uint8_t* bytes) {
    const auto address = reinterpret_cast<uintptr_t>(bytes);
    words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
    shift = static_cast<uint32_t>(address & 3) * 8;
  }
};

// One pixel of the horizontal pass, with at most kTaps taps, whose weights are in registers.
template <int kTaps>
__device__ inline uint32_t PixelOf(const uint32_t* from, uint32_t shift,
                                   const int (&weights)[kTaps]) {
  constexpr int kWords = (3 * kTaps + 3) / 4;  // that the taps' bytes fill
  constexpr int kLoads = (3 * kTaps + 6) / 4;  // wherever in a word they begin
  uint32_t loaded[kWords + 1] = {};
#pragma unroll
  for (int i = 0; i < kLoads; ++i) loaded[i] = __ldg(from + i);
  uint32_t words[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __funnelshift_r(loaded[i], loaded[i + 1], shift);
  ColorSum sum;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) sum.AddAt(words, 3 * tap, weights[tap]);
  return sum.Pixel();
}

// The same with any number of taps; `weights` points at the first, `stride` words before the next.
__device__ inline uint32_t PixelOfMany(const uint32_t* from, uint32_t shift,
                                       const uint32_t* weights, uint32_t stride, uint32_t taps) {
  uint32_t last = __ldg(from);
  ColorSum sum;
#pragma unroll 1
  for (uint32_t tap = 0; tap < taps; tap += kTapsPerGroup, from += 3) {
    const uint32_t b = __ldg(from + 1), c = __ldg(from + 2), d = __ldg(from + 3);
    const uint32_t words[3] = {__funnelshift_r(last, b, shift), __funnelshift_r(b, c, shift),
                               __funnelshift_r(c, d, shift)};
#pragma unroll
    for (int i = 0; i < int{kTapsPerGroup}; ++i) {
      sum.AddAt(words, 3 * i, static_cast<int>(__ldg(weights + uint64_t{tap + i} * stride)));
    }
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

// Calls the version for so many taps. `many` is called, and compiled, only in the kernel for rows of
// many taps.
template <bool kManyTaps, typename Few, typename Many>
__device__ inline void ForTaps(uint32_t taps, const Few& few, const Many& many) {
  switch (taps) {
    case 0:
    case 1:
    case 2:
      return few.template operator()<2>();
    case 3:
      return few.template operator()<3>();
    case 4:
      return few.template operator()<4>();
    case 5:
      return few.template operator()<5>();
    case 6:
      return few.template operator()<6>();
    case 7:
    case kMostKnownTaps:
      if constexpr (kManyTaps) few.template operator()<kMostKnownTaps>();
      return;
    default:
      if constexpr (kManyTaps) many();
  }
}

// Resizes the tile's inputs horizontally, each warp every eighth row. `pixel_at` makes the pixel
// from the words at its column of a row.
template <int kUnroll, typename PixelAt>
__device__ inline void ResizeInputs(const KernelRow& row, const TilePlace& place,
                                    const TileInputs& inputs, const uint32_t* column,
                                    uint32_t* shared, const PixelAt& pixel_at) {
  const uint64_t pitch = row.pitch / sizeof(uint32_t);
  const uint32_t* from = column + (inputs.first + place.warp) * pitch;
  uint32_t* into = shared + place.warp * kWarp + place.lane;
#pragma unroll(kUnroll)
  for (uint32_t i = place.warp; i < inputs.count; i += kWarps) {
    *into = pixel_at(from);
    from += kWarps * pitch;
    into += kWarps * kWarp;
  }
}

template <int kTaps>
__device__ inline void ResizeFew(const KernelRow& row, const uint32_t* tables,
                                 const TilePlace& place, const TileInputs& inputs,
                                 uint32_t* shared) {
  int weights[kTaps];
#pragma unroll
  for (int i = 0; i < kTaps; ++i) {
    weights[i] = static_cast<int>(__ldg(tables + row.x.weights + i * row.width + place.column));
  }
  const WordStream stream(row.from + __ldg(tables + row.x.first + place.column));
  // More loads in flight; with many weights, registers are scarcer.
  ResizeInputs<kTaps <= 4 ? 2 : 1>(
      row, place, inputs, stream.words, shared,
      [&](const uint32_t* from) { return PixelOf<kTaps>(from, stream.shift, weights); });
}

__device__ inline void ResizeMany(const KernelRow& row, const uint32_t* tables,
                                  const TilePlace& place, const TileInputs& inputs,
                                  uint32_t* shared) {
  const WordStream stream(row.from + __ldg(tables + row.x.first + place.column));
  const uint32_t taps = __ldg(tables + row.x.counts + place.column);
  const uint32_t* const weights = tables + row.x.weights + place.column;
  ResizeInputs<1>(row, place, inputs, stream.words, shared, [&](const uint32_t* from) {
    return PixelOfMany(from, stream.shift, weights, row.width, taps);
  });
}

// Stores a warp's pixels of a row side by side. Four pixels are three words, of which each of three
// lanes stores one; where words are not aligned, each lane stores its pixel's bytes.
struct RowStore {
  uint8_t* into;      // the lane's place in the row
  uint32_t selector;  // of the word's bytes: the pixel's from the lane's part on, then the next one's
  bool by_words, stores;

  __device__ RowStore(const KernelRow& row, const TilePlace& place, uint32_t y) {
    const uint32_t x = place.across * kTileWidth, part = place.lane % 4;
    by_words = row.width % 4 == 0 && reinterpret_cast<uintptr_t>(row.into) % 4 == 0;
    stores = x + place.lane < row.width && !(by_words && part == 3);
    selector = 0x654210 >> (part * 4) & 0xffff;
    into = row.into + (uint64_t{y} * row.width + x) * 3 +
           (by_words ? (place.lane / 4 * 3 + part) * 4 : place.lane * 3);
  }

  // Called by all threads of the warp.
  __device__ void Put(uint32_t pixel) const {
    const uint32_t next = __shfl_down_sync(0xffffffff, pixel, 1);
    if (!stores) return;
    if (by_words) {
      *reinterpret_cast<uint32_t*>(into) = __byte_perm(pixel, next, selector);
      return;
    }
    for (int i = 0; i < 3; ++i) into[i] = static_cast<uint8_t>(Byte(pixel, i));
  }
};

// Makes the tile's rows, each warp every eighth one. `sum_of` adds up a row's taps, given its
// weights and, in shared memory, its first input.
template <typename SumOf>
__device__ inline void MakeTileRows(const KernelRow& row, const uint32_t* tables,
                                    const TilePlace& place, const TileInputs& inputs,
                                    const uint32_t* shared, const SumOf& sum_of) {
  const uint32_t end = min(row.height, (place.down + 1) * row.tile_height);
  uint32_t y = place.down * row.tile_height + place.warp;
  RowStore store(row, place, y);
  const auto* const all_weights = reinterpret_cast<const int4*>(tables + row.y.weights);
  uint32_t weights = y * row.y.groups;
  for (; y < end; y += kWarps) {
    const uint32_t first = __ldg(tables + row.y.first + y) - inputs.first;
    store.Put(sum_of(y, all_weights + weights, shared + first * kWarp + place.lane).Pixel());
    weights += kWarps * row.y.groups;
    store.into += kWarps * 3 * row.width;
  }
}

// The vertical pass, with at most kTaps taps.
template <int kTaps>
__device__ inline ColorSum SumOfFew(const int4* weights, const uint32_t* pixels) {
  ColorSum sum;
#pragma unroll
  for (int tap = 0; tap < kTaps; tap += kTapsPerGroup) {
    const int4 four = __ldg(weights++);
    sum.Add(pixels[tap * kWarp], four.x);
    if (tap + 1 < kTaps) sum.Add(pixels[(tap + 1) * kWarp], four.y);
    if (tap + 2 < kTaps) sum.Add(pixels[(tap + 2) * kWarp], four.z);
    if (tap + 3 < kTaps) sum.Add(pixels[(tap + 3) * kWarp], four.w);
  }
  return sum;
}

// The same with any number of taps.
__device__ inline ColorSum SumOfMany(const int4* weights, const uint32_t* pixels, uint32_t taps) {
  ColorSum sum;
  for (uint32_t tap = 0; tap < taps; tap += kTapsPerGroup, pixels += kTapsPerGroup * kWarp) {
    const int4 four = __ldg(weights++);
    sum.Add(pixels[0], four.x);
    sum.Add(pixels[kWarp], four.y);
    sum.Add(pixels[2 * kWarp], four.z);
    sum.Add(pixels[3 * kWarp], four.w);
  }
  return sum;
}

template <bool kManyTaps>
__device__ inline void MakeTile(const KernelRow& row, const uint32_t* tables, uint32_t tile,
                                uint32_t* shared) {
  const TilePlace place = PlaceOf(row, tile);
  const auto* all = reinterpret_cast<const TileInputs*>(tables + row.tile_inputs);
  const TileInputs inputs = all[place.down];
  ForTaps<kManyTaps>(
      row.x.taps, [&]<int kTaps> { ResizeFew<kTaps>(row, tables, place, inputs, shared); },
      [&] { ResizeMany(row, tables, place, inputs, shared); });
  __syncthreads();
  const auto make = [&](const auto& sum_of) {
    MakeTileRows(row, tables, place, inputs, shared, sum_of);
  };
  ForTaps<kManyTaps>(
      row.y.taps,
      [&]<int kTaps> {
        make([](uint32_t, const int4* weights, const uint32_t* pixels) {
          return SumOfFew<kTaps>(weights, pixels);
        });
      },
      [&] {
        make([&](uint32_t y, const int4* weights, const uint32_t* pixels) {
          return SumOfMany(weights, pixels, __ldg(tables + row.y.counts + y));
        });
      });
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
  const WordStream stream(row.from + __ldg(tables + row.x.first + place.column));
  const uint64_t pitch = row.pitch / sizeof(uint32_t);
  const uint32_t x_taps = __ldg(tables + row.x.counts + place.column);
  ColorSum sum;
  if (place.warp != 0) sum = {0, 0, 0};
  for (uint32_t i = place.warp; i < count; i += kWarps) {
    const uint32_t pixel = PixelOfMany(stream.words + (first + i) * pitch, stream.shift,
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
    RowStore(row, place, y).Put(sum.Pixel());
  }
  __syncthreads();
}

// Makes the rows of few taps, or the others. blockIdx.y is the row; its blocks share its tiles.
template <bool kManyTaps>
__global__ void __launch_bounds__(kRowThreads, kManyTaps ? kBlocksOfManyTaps : kBlocksOfFewTaps)
    MakeRows(const KernelRow* __restrict__ rows, const uint32_t* __restrict__ tables) {
  __shared__ uint32_t shared[kSharedRows * kWarp];
  const KernelRow& row = rows[blockIdx.y];
  if (kManyTaps == (max(row.x.taps, row.y.taps) <= kMostFewTaps)) return;
  for (uint32_t tile = blockIdx.x; tile < row.tiles; tile += gridDim.x) {
    if (kManyTaps && row.tile_height == 0) {
      MakeTallTile(row, tables, tile, shared);
    } else {
      MakeTile<kManyTaps>(row, tables, tile, shared);
    }
  }
}

}  // namespace penstock::gpu_decode::device
