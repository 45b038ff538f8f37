// The kernels that set marks and count those that are left. Tests run this file on the CPU, too
// (tests/support/gpu_decode).
#pragma once

#include "client/gpu_decode/marks.h"

namespace penstock::gpu_decode::device {

constexpr uint32_t kMarkThreads = 256;
constexpr uint32_t kMarkBytes = 8;

__device__ inline uint64_t MarkPattern(uint32_t image, uint64_t mark, uint32_t nonce) {
  uint64_t x = (uint64_t{nonce} << 32 | image) * 0x9E3779B97F4A7C15u + mark;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;  // SplitMix64
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

struct MarkPlace {
  uint8_t* bytes;
  uint32_t count;  // 8, or fewer in images of one or two columns
};

// A mark lies in its part's last row; in parts that the image cuts off, at the end.
__device__ inline MarkPlace PlaceOfMark(const MarkedImage& image, uint64_t mark) {
  const uint32_t across = (image.width + kMarkedSide - 1) / kMarkedSide;
  const uint32_t column = static_cast<uint32_t>(mark % across);
  const uint32_t row = static_cast<uint32_t>(mark / across);
  const uint32_t y = min(row * kMarkedSide + kMarkedSide - 1, image.height - 1);
  const uint32_t row_bytes = 3 * image.width;
  const uint32_t count = min(kMarkBytes, row_bytes);
  const uint32_t x = min(column * 3 * kMarkedSide + kMarkBytes, row_bytes - count);
  return {image.pixels + y * image.pitch + x, count};
}

__device__ inline uint8_t MarkByte(uint64_t pattern, uint32_t index) {
  return static_cast<uint8_t>(pattern >> (8 * index));
}

// blockIdx.y is the image; its blocks share the marks.
__global__ void __launch_bounds__(kMarkThreads) SetMarks(const MarksLaunch launch) {
  const MarkedImage image = launch.images[blockIdx.y];
  const uint64_t marks = MarksIn(image.width, image.height);
  if (blockIdx.x == 0 && threadIdx.x == 0) launch.unwritten[blockIdx.y] = 0;
  for (uint64_t mark = blockIdx.x * kMarkThreads + threadIdx.x; mark < marks;
       mark += uint64_t{gridDim.x} * kMarkThreads) {
    const MarkPlace place = PlaceOfMark(image, mark);
    const uint64_t pattern = MarkPattern(blockIdx.y, mark, launch.nonce);
    for (uint32_t i = 0; i < place.count; ++i) place.bytes[i] = MarkByte(pattern, i);
  }
}

__global__ void __launch_bounds__(kMarkThreads) CountMarks(const MarksLaunch launch) {
  const MarkedImage image = launch.images[blockIdx.y];
  const uint64_t marks = MarksIn(image.width, image.height);
  for (uint64_t mark = blockIdx.x * kMarkThreads + threadIdx.x; mark < marks;
       mark += uint64_t{gridDim.x} * kMarkThreads) {
    const MarkPlace place = PlaceOfMark(image, mark);
    const uint64_t pattern = MarkPattern(blockIdx.y, mark, launch.nonce);
    bool left = true;
    for (uint32_t i = 0; i < place.count; ++i) left &= place.bytes[i] == MarkByte(pattern, i);
    if (left) atomicAdd(launch.unwritten + blockIdx.y, 1u);
  }
}

}  // namespace penstock::gpu_decode::device
