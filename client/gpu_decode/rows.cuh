// The kernels that make rows: resize crops of decoded images in two passes with 8 bits between
// them, as Pillow does.
//
// A tile's horizontal pass reads the image through the L1 cache, because neighbouring threads read
// nearly the same words; its results, one word for each pixel, lie in shared memory for the
// vertical pass. Sums are exact modulo 2³², so their order does not matter.
//
// Includes no CUDA header, so that a test can run them on a CPU (tests/support/gpu_decode).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "client/gpu_decode/kernel_row.h"
#include "client/gpu_decode/sums.cuh"

namespace penstock::gpu_decode::device {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = kTileStep;
constexpr uint32_t kRowThreads = kWarp * kWarps;
// As many blocks of a multiprocessor as fit, by their shared memory and without spilled registers.
// Plain rows need fewer registers, and more blocks hide more of the time that loads take.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
constexpr uint32_t kBlocksOfOthers = 3, kBlocksOfPlain = 3;  // 100 KiB of shared memory
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 800
constexpr uint32_t kBlocksOfOthers = 4, kBlocksOfPlain = 6;  // 164 KiB
#else
constexpr uint32_t kBlocksOfOthers = 4, kBlocksOfPlain = 8;  // 228 KiB
#endif
constexpr uint32_t kMostKnownTaps = 8;  // of columns, for which there is code of its own
// Output rows read as many inputs as the one with the most, so up to five beyond the last.
constexpr uint32_t kSharedRows = kMaxTileInputs + kMostFewTaps - 1;

static_assert(kTileWidth == kWarp);

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
template <typename Sum, int kTaps>
__device__ __forceinline__ uint32_t PixelOf(const uint32_t* from, uint32_t shift,
                                            const uint32_t (&weights)[kTaps]) {
  constexpr int kWords = (3 * kTaps + 3) / 4;  // that the taps' bytes fill
  constexpr int kLoads = (3 * kTaps + 6) / 4;  // wherever in a word they begin
  uint32_t loaded[kWords + 1] = {};
#pragma unroll
  for (int i = 0; i < kLoads; ++i) loaded[i] = __ldg(from + i);
  uint32_t words[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __funnelshift_r(loaded[i], loaded[i + 1], shift);
  Sum sum;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) AddAt(sum, words, 3 * tap, weights[tap]);
  return sum.Pixel();
}

// The same with any number of taps; `weights` points at the first, `stride` words before the next.
__device__ __forceinline__ uint32_t PixelOfMany(const uint32_t* from, uint32_t shift,
                                                const uint32_t* weights, uint32_t stride,
                                                uint32_t taps) {
  uint32_t last = __ldg(from);
  ClippedSum sum;
#pragma unroll 1
  for (uint32_t tap = 0; tap < taps; tap += kTapsPerGroup, from += 3) {
    const uint32_t b = __ldg(from + 1), c = __ldg(from + 2), d = __ldg(from + 3);
    const uint32_t words[3] = {__funnelshift_r(last, b, shift), __funnelshift_r(b, c, shift),
                               __funnelshift_r(c, d, shift)};
    uint32_t four[kTapsPerGroup];
#pragma unroll
    for (uint32_t& weight : four) {
      weight = __ldg(weights);
      weights += stride;
    }
#pragma unroll
    for (int i = 0; i < int{kTapsPerGroup}; ++i) AddAt(sum, words, 3 * i, four[i]);
    last = d;
  }
  return sum.Pixel();
}

struct TilePlace {
  uint32_t lane, warp;
  uint32_t column;  // of the output, the last one in threads beyond it
  uint32_t across, down;
};

__device__ __forceinline__ TilePlace PlaceOf(const KernelRow& row, uint32_t tile) {
  TilePlace place;
  place.lane = threadIdx.x % kWarp;
  place.warp = threadIdx.x / kWarp;
  place.across = tile % row.tiles_across;
  place.down = tile / row.tiles_across;
  place.column = min(place.across * kTileWidth + place.lane, row.width - 1);
  return place;
}

// Calls the version for so many taps, of which there is one for each number up to kMost. `many` is
// called, and compiled, only in the kernel for rows that are not plain.
template <bool kPlain, uint32_t kMost, typename Few, typename Many>
__device__ __forceinline__ void ForTaps(uint32_t taps, const Few& few, const Many& many) {
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
    case kMostFewTaps:
      return few.template operator()<kMostFewTaps>();
  }
  if constexpr (!kPlain) {
    if (taps > kMost) return many();
    if constexpr (kMost > kMostFewTaps) return few.template operator()<kMost>();
  }
}

// Resizes the tile's inputs horizontally, each warp every eighth row. `pixel_at` makes the pixel
// from the words at its column of a row.
template <int kUnroll, typename PixelAt>
__device__ __forceinline__ void ResizeInputs(const KernelRow& row, const TilePlace& place,
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

template <typename Sum, int kTaps>
__device__ __forceinline__ void ResizeFew(const KernelRow& row, const uint32_t* tables,
                                          const TilePlace& place, const TileInputs& inputs,
                                          uint32_t* shared) {
  uint32_t weights[kTaps];
#pragma unroll
  for (int i = 0; i < kTaps; ++i) {
    weights[i] = __ldg(tables + row.x.weights + i * row.width + place.column);
  }
  const WordStream stream(row.from + __ldg(tables + row.x.first + place.column));
  // More loads in flight; with many weights, registers are scarcer.
  ResizeInputs<kTaps <= 4 ? 2 : 1>(
      row, place, inputs, stream.words, shared,
      [&](const uint32_t* from) { return PixelOf<Sum, kTaps>(from, stream.shift, weights); });
}

__device__ __forceinline__ void ResizeMany(const KernelRow& row, const uint32_t* tables,
                                           const TilePlace& place, const TileInputs& inputs,
                                           uint32_t* shared) {
  const WordStream stream(row.from + __ldg(tables + row.x.first + place.column));
  const uint32_t taps = __ldg(tables + row.x.counts + place.column);
  const uint32_t* const weights = tables + row.x.weights + place.column;
  ResizeInputs<1>(row, place, inputs, stream.words, shared, [&](const uint32_t* from) {
    return PixelOfMany(from, stream.shift, weights, row.width, taps);
  });
}

// Where a lane stores something of each row of a tile.
struct RowPlace {
  uint8_t* into;
  bool stores;

  __device__ void Advance(const KernelRow& row) { into += kWarps * 3 * row.width; }
};

// Stores a warp's pixels of a row side by side: four pixels are three words, of which each of three
// lanes stores one.
struct WordStore {
  uint32_t
      selector;  // of the word's bytes: the pixel's from the lane's part on, then the next one's
  RowPlace at;

  // Whether all words of the row are aligned.
  __device__ static bool Suits(const KernelRow& row) {
    return row.width % 4 == 0 && reinterpret_cast<uintptr_t>(row.into) % 4 == 0;
  }
  __device__ WordStore(const KernelRow& row, const TilePlace& place, uint32_t y) {
    const uint32_t x = place.across * kTileWidth, part = place.lane % 4;
    selector = Kept(0x654210 >> (part * 4) & 0x7777);
    at = {row.into + (uint64_t{y} * row.width + x) * 3 + (place.lane / 4 * 3 + part) * 4,
          x + place.lane < row.width && part != 3};
  }
  // Called by all threads of the warp.
  __device__ void Put(uint32_t pixel) const {
    const uint32_t next = __shfl_down_sync(0xffffffff, pixel, 1);
    if (at.stores) *reinterpret_cast<uint32_t*>(at.into) = __byte_perm(pixel, next, selector);
  }
};

// Each lane stores its pixel's bytes.
struct ByteStore {
  RowPlace at;

  __device__ ByteStore(const KernelRow& row, const TilePlace& place, uint32_t y) {
    const uint32_t x = place.across * kTileWidth + place.lane;
    at = {row.into + (uint64_t{y} * row.width + x) * 3, x < row.width};
  }
  __device__ void Put(uint32_t pixel) const {
    if (!at.stores) return;
    for (int i = 0; i < 3; ++i) at.into[i] = static_cast<uint8_t>(Byte(pixel, i));
  }
};

// Makes the tile's rows, each warp every eighth one. `pixel_of` adds up a row's taps, given its
// number, its record of so many groups and, in shared memory, the lane's column.
template <typename Store, typename PixelOf>
__device__ __forceinline__ void MakeTileRows(const KernelRow& row, const uint32_t* tables,
                                             uint32_t groups, const TilePlace& place,
                                             const uint32_t* shared, const PixelOf& pixel_of) {
  const uint32_t end = min(row.height, (place.down + 1) * row.tile_height);
  uint32_t y = place.down * row.tile_height + place.warp;
  Store store(row, place, y);
  const auto* record =
      reinterpret_cast<const uint4*>(tables + row.y.records) + uint64_t{y} * groups;
  for (; y < end; y += kWarps) {
    store.Put(pixel_of(y, record, shared + place.lane));
    record += kWarps * groups;
    store.at.Advance(row);
  }
}

// Of a record with so many taps; one tap takes no fewer than two.
__device__ constexpr uint32_t GroupsOf(uint32_t taps) { return (1 + taps + 3) / 4; }

__device__ __forceinline__ uint32_t WordOf(const uint4* groups, int index) {
  const uint4& group = groups[index / 4];
  return index % 4 == 0 ? group.x : index % 4 == 1 ? group.y : index % 4 == 2 ? group.z : group.w;
}

// The vertical pass, with at most kTaps taps.
template <typename Sum, int kTaps>
__device__ __forceinline__ uint32_t RowOfFew(const uint4* record, const uint32_t* column) {
  constexpr int kGroups = GroupsOf(kTaps);
  uint4 groups[kGroups];
#pragma unroll
  for (int i = 0; i < kGroups; ++i) groups[i] = __ldg(record + i);
  const uint32_t* const pixels = column + size_t{WordOf(groups, 0)} * kWarp;
  Sum sum;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) Add(sum, pixels[tap * kWarp], WordOf(groups, tap + 1));
  return sum.Pixel();
}

// The same with any number of taps.
__device__ __forceinline__ uint32_t RowOfMany(const uint4* record, const uint32_t* column,
                                              uint32_t taps) {
  uint4 four = __ldg(record);
  const uint32_t* pixels = column + size_t{four.x} * kWarp;
  ClippedSum sum;
  Add(sum, pixels[0], four.y);
  Add(sum, pixels[kWarp], four.z);
  Add(sum, pixels[2 * kWarp], four.w);
  pixels += 3 * kWarp;
  for (uint32_t tap = 3; tap < taps; tap += kTapsPerGroup, pixels += kTapsPerGroup * kWarp) {
    four = __ldg(++record);
    Add(sum, pixels[0], four.x);
    Add(sum, pixels[kWarp], four.y);
    Add(sum, pixels[2 * kWarp], four.z);
    Add(sum, pixels[3 * kWarp], four.w);
  }
  return sum.Pixel();
}

template <bool kPlain, typename Sum, typename Store>
__device__ __forceinline__ void ResizeRows(const KernelRow& row, const uint32_t* tables,
                                           const TilePlace& place, const uint32_t* shared) {
  ForTaps<kPlain, kMostFewTaps>(
      row.y.taps,
      [&]<int kTaps> {
        MakeTileRows<Store>(row, tables, GroupsOf(kTaps), place, shared,
                            [](uint32_t, const uint4* record, const uint32_t* column) {
                              return RowOfFew<Sum, kTaps>(record, column);
                            });
      },
      [&] {
        MakeTileRows<Store>(row, tables, row.y.groups, place, shared,
                            [&](uint32_t y, const uint4* record, const uint32_t* column) {
                              return RowOfMany(record, column, __ldg(tables + row.y.counts + y));
                            });
      });
}

template <bool kPlain>
__device__ __forceinline__ void MakeTile(const KernelRow& row, const uint32_t* tables,
                                         uint32_t tile, uint32_t* shared) {
  using Sum = std::conditional_t<kPlain, PlainSum, ClippedSum>;
  const TilePlace place = PlaceOf(row, tile);
  const TileInputs inputs =
      reinterpret_cast<const TileInputs*>(tables + row.tile_inputs)[place.down];
  ForTaps<kPlain, kMostKnownTaps>(
      row.x.taps, [&]<int kTaps> { ResizeFew<Sum, kTaps>(row, tables, place, inputs, shared); },
      [&] { ResizeMany(row, tables, place, inputs, shared); });
  __syncthreads();
  if (WordStore::Suits(row)) {
    ResizeRows<kPlain, Sum, WordStore>(row, tables, place, shared);
  } else {
    ResizeRows<kPlain, Sum, ByteStore>(row, tables, place, shared);
  }
  __syncthreads();
}

// A tile of one row with too many inputs for shared memory: the warps share them, and their sums
// are added up at the end.
__device__ __forceinline__ void MakeTallTile(const KernelRow& row, const uint32_t* tables,
                                             uint32_t tile, uint32_t* shared) {
  const TilePlace place = PlaceOf(row, tile);
  const uint32_t y = place.down;
  const TileInputs inputs = reinterpret_cast<const TileInputs*>(tables + row.tile_inputs)[y];
  const uint32_t* const weights = tables + row.y.records + uint64_t{y} * row.y.groups * 4 + 1;
  const WordStream stream(row.from + __ldg(tables + row.x.first + place.column));
  const uint64_t pitch = row.pitch / sizeof(uint32_t);
  const uint32_t x_taps = __ldg(tables + row.x.counts + place.column);
  ClippedSum sum;
  if (place.warp != 0) sum = {0, 0, 0};
  for (uint32_t i = place.warp; i < inputs.count; i += kWarps) {
    const uint32_t pixel = PixelOfMany(stream.words + (inputs.first + i) * pitch, stream.shift,
                                       tables + row.x.weights + place.column, row.width, x_taps);
    Add(sum, pixel, __ldg(weights + i));
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
    ByteStore(row, place, y).Put(sum.Pixel());
  }
  __syncthreads();
}

// Makes the plain rows, or the others. blockIdx.y is the row; its blocks share its tiles.
template <bool kPlain>
__global__ void __launch_bounds__(kRowThreads, kPlain ? kBlocksOfPlain : kBlocksOfOthers)
    MakeRows(const KernelRow* __restrict__ rows, const uint32_t* __restrict__ tables) {
  __shared__ uint32_t shared[kSharedRows * kWarp];
  const KernelRow& row = rows[blockIdx.y];
  if (kPlain != (row.is_plain != 0)) return;
  for (uint32_t tile = blockIdx.x; tile < row.tiles; tile += gridDim.x) {
    if (!kPlain && row.tile_height == 0) {
      MakeTallTile(row, tables, tile, shared);
    } else {
      MakeTile<kPlain>(row, tables, tile, shared);
    }
  }
}

}  // namespace penstock::gpu_decode::device
