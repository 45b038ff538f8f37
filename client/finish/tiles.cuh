// The kernel for all other cases: any width, number of channels and alignment, and rows that are
// computed instead of read. Each block brings a piece of one row into shared memory, by 16-byte
// reads or from Philox, and writes it from there, by 16-byte stores where they are aligned.
#pragma once

#include "client/finish/launch.h"
#include "client/finish/linear.cuh"
#include "client/finish/values.cuh"
#include "common/base/philox.h"

namespace penstock::finish::device {

enum class Source { kMemory, kRandom };

constexpr uint32_t kVector = sizeof(uint4);

// Divides a run of elements into whole groups, which are stored at once, between a head and a tail
// of single elements. If not even single elements are aligned, there are no groups.
template <typename Make>
struct Run {
  uint32_t head, groups, singles;
  __device__ Run(const std::byte* at, uint32_t count) {
    constexpr uint32_t kBytes = sizeof(typename Make::Element);
    const auto address = reinterpret_cast<uintptr_t>(at);
    const auto to_aligned = static_cast<uint32_t>(-address % kVector) / kBytes;
    head = address % kBytes != 0 || to_aligned > count ? count : to_aligned;
    groups = (count - head) / Make::kGroup;
    singles = count - groups * Make::kGroup;
  }
  // Index of the i-th element outside of all groups.
  __device__ uint32_t Single(uint32_t i) const { return i < head ? i : i + groups * Make::kGroup; }
};

// Copies `count` bytes to shared memory, at an offset that makes 16-byte accesses aligned on both
// sides. Returns their address there.
__device__ inline const uint8_t* Fetch(const uint8_t* from, uint32_t count, uint8_t* shared) {
  const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % kVector);
  uint8_t* to = shared + shift;
  const uint32_t head = min(count, (kVector - shift) % kVector);
  const uint32_t vectors = (count - head) / kVector;
  for (uint32_t i = threadIdx.x; i < vectors; i += kThreads) {
    const uint32_t at = head + i * kVector;
    *reinterpret_cast<uint4*>(to + at) = __ldg(reinterpret_cast<const uint4*>(from + at));
  }
  for (uint32_t i = threadIdx.x; i < count - vectors * kVector; i += kThreads) {
    const uint32_t at = i < head ? i : i + vectors * kVector;
    to[at] = __ldg(from + at);
  }
  return to;
}

// Computes the same bytes as Synthesize. `first`: their offset in the row, a multiple of 16.
__device__ inline const uint8_t* Compute(const Synthetic& what, uint64_t sample, uint64_t first,
                                         uint32_t count, uint8_t* shared) {
  for (uint32_t i = threadIdx.x; i * kVector < count; i += kThreads) {
    const base::PhiloxWords words = base::Philox4x32(
        {static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32),
         static_cast<uint32_t>(what.epoch), static_cast<uint32_t>(first / kVector) + i},
        what.seed);
    reinterpret_cast<uint4*>(shared)[i] = {words[0], words[1], words[2], words[3]};
  }
  return shared;
}

__device__ inline void MakeLabels(const Job& job) {
  if (blockIdx.x != 0) return;
  for (uint64_t i = threadIdx.x; i < job.label_count; i += kThreads) {
    job.labels_into[i] = SyntheticLabel(job.synthetic, SampleOf(job.synthetic, i));
  }
}

// Stores elements in the order of the bytes, which begin with channel 0. make(byte, pixel, channel)
// makes one, all three counted from the tile's beginning.
template <typename Make, typename MakeOne>
__device__ void StoreInOrder(uint32_t count, uint32_t channels, std::byte* at,
                             const MakeOne& make) {
  using Element = typename Make::Element;
  const Run<Make> run(at, count);
  for (uint32_t group = threadIdx.x; group < run.groups; group += kThreads) {
    const uint32_t first = run.head + group * Make::kGroup;
    uint32_t pixel = first / channels, channel = first - pixel * channels;
    Element values[Make::kGroup];
#pragma unroll
    for (uint32_t k = 0; k < Make::kGroup; ++k) {
      values[k] = make(first + k, pixel, channel);
      if (++channel == channels) channel = 0, ++pixel;
    }
    Store(at + first * sizeof(Element), Make::Pack(values));
  }
  for (uint32_t i = threadIdx.x; i < run.singles; i += kThreads) {
    const uint32_t element = run.Single(i);
    StoreOne(at + element * sizeof(Element), make(element, element / channels, element % channels));
  }
}

// Stores `count` whole pixels to planes that are `plane_bytes` apart.
template <typename Make, typename MakeOne>
__device__ void StorePlanes(uint32_t count, uint32_t channels, std::byte* at, uint64_t plane_bytes,
                            const MakeOne& make) {
  using Element = typename Make::Element;
  const uint32_t most = count / Make::kGroup;  // groups of one plane
  for (uint32_t work = threadIdx.x; work < most * channels; work += kThreads) {
    const uint32_t c = work / most, group = work - c * most;
    std::byte* plane = at + c * plane_bytes;
    const Run<Make> run(plane, count);
    if (group >= run.groups) continue;
    const uint32_t first = run.head + group * Make::kGroup;
    Element values[Make::kGroup];
#pragma unroll
    for (uint32_t k = 0; k < Make::kGroup; ++k) {
      values[k] = make((first + k) * channels + c, first + k, c);
    }
    Store(plane + first * sizeof(Element), Make::Pack(values));
  }
  for (uint32_t c = 0; c < channels; ++c) {
    std::byte* plane = at + c * plane_bytes;
    const Run<Make> run(plane, count);
    for (uint32_t i = threadIdx.x; i < run.singles; i += kThreads) {
      const uint32_t pixel = run.Single(i);
      StoreOne(plane + pixel * sizeof(Element), make(pixel * channels + c, pixel, c));
    }
  }
}

template <Type type, Division division, Layout layout, Source source>
__global__ void __launch_bounds__(kThreads) Tiles(const __grid_constant__ Job job) {
  using Make = Maker<type, division>;
  alignas(16) __shared__ uint8_t shared[kTileBytes + 2 * kVector];
  __shared__ CoefficientTable table;  // indexed at run time
  if (threadIdx.x < kMaxChannels) {
    table.mean[threadIdx.x] = job.coefficients.mean[threadIdx.x];
    table.stddev[threadIdx.x] = job.coefficients.stddev[threadIdx.x];
    table.inverse[threadIdx.x] = job.coefficients.inverse[threadIdx.x];
  }
  const uint64_t row = blockIdx.x / job.choice.tiles_per_row;
  const uint64_t first = (blockIdx.x - row * job.choice.tiles_per_row) * job.choice.tile_pixels;
  const uint64_t left = job.pixels - first;
  const uint32_t count =
      left < job.choice.tile_pixels ? static_cast<uint32_t>(left) : job.choice.tile_pixels;
  const uint64_t row_begin = row * job.pixels * job.channels;
  const uint8_t* bytes;
  if constexpr (source == Source::kMemory) {
    CopyLabels(job);
    bytes = Fetch(job.rows + row_begin + first * job.channels, count * job.channels, shared);
  } else {
    MakeLabels(job);
    bytes = Compute(job.synthetic, SampleOf(job.synthetic, row), first * job.channels,
                    count * job.channels, shared);
  }
  __syncthreads();

  const auto make = [&](uint32_t at, uint32_t, uint32_t channel) {
    return Make::Make(bytes[at], At(table, channel));
  };
  constexpr uint32_t kBytes = sizeof(typename Make::Element);
  if constexpr (layout == Layout::kNHWC) {
    StoreInOrder<Make>(count * job.channels, job.channels,
                       job.into + (row_begin + first * job.channels) * kBytes, make);
  } else {
    StorePlanes<Make>(count, job.channels, job.into + (row_begin + first) * kBytes,
                      job.pixels * kBytes, make);
  }
}

}  // namespace penstock::finish::device
