// Two kernels for aligned memory: elements in input order, and three channels to planes.
#pragma once

#include "client/finish/launch.h"
#include "client/finish/values.cuh"

namespace penstock::finish::device {

// The first block copies the labels.
__device__ inline void CopyLabels(const Job& job) {
  if (blockIdx.x != 0 || job.labels == nullptr) return;
  for (uint64_t i = threadIdx.x; i < job.label_count; i += blockDim.x) {
    job.labels_into[i] = job.labels[i];
  }
}

// Thread t handles groups t, t + blockDim.x, … of its block. Because blockDim.x is a multiple of
// the channels, all of them begin with the same channel, so the coefficients are loaded once.
template <Type type, Division division>
__global__ void __launch_bounds__(512) Linear(const __grid_constant__ Job job) {
  using Make = Maker<type, division>;
  constexpr uint32_t kGroup = Make::kGroup;
  CopyLabels(job);
  const uint32_t first_channel = threadIdx.x * kGroup % job.channels;
  Coefficient coefficients[kGroup];
  if constexpr (type != Type::kUInt8) {
#pragma unroll
    for (uint32_t k = 0; k < kGroup; ++k) {
      coefficients[k] = At(job.coefficients, (first_channel + k) % job.channels);
    }
  }

  const uint64_t base = blockIdx.x * (uint64_t{kGroupsPerThread} * blockDim.x) + threadIdx.x;
  uint32_t words[kGroupsPerThread][kGroup / 4];
#pragma unroll
  for (uint32_t turn = 0; turn < kGroupsPerThread; ++turn) {
    const uint64_t group = base + turn * blockDim.x;
    if (group < job.choice.groups) Load<kGroup>(job.rows + group * kGroup, words[turn]);
  }
#pragma unroll
  for (uint32_t turn = 0; turn < kGroupsPerThread; ++turn) {
    const uint64_t group = base + turn * blockDim.x;
    if (group >= job.choice.groups) break;
    typename Make::Element values[kGroup];
#pragma unroll
    for (uint32_t k = 0; k < kGroup; ++k) {
      values[k] = Make::Make(ByteOf(words[turn], k), coefficients[k]);
    }
    Store(job.into + group * sizeof(uint4), Make::Pack(values));
  }

  const uint64_t rest = job.choice.groups * kGroup + threadIdx.x;  // elements after the last group
  if (blockIdx.x == 0 && rest < job.elements) {
    const Coefficient c = At(job.coefficients, static_cast<uint32_t>(rest % job.channels));
    StoreOne(job.into + rest * sizeof(typename Make::Element), Make::Make(job.rows[rest], c));
  }
}

// Each thread reads a group of whole pixels and makes one 16-byte store for each plane.
template <Type type, Division division>
__global__ void __launch_bounds__(kThreads) ThreePlanes(const __grid_constant__ Job job) {
  using Make = Maker<type, division>;
  constexpr uint32_t kGroup = Make::kGroup;
  CopyLabels(job);
  const uint32_t group = blockIdx.x * kThreads + threadIdx.x;
  if (group >= job.choice.groups) return;
  const uint32_t row = group / job.choice.groups_per_plane;
  const uint32_t in_plane = group - row * job.choice.groups_per_plane;

  uint32_t words[3 * kGroup / 4];
#pragma unroll
  for (uint32_t part = 0; part < 3; ++part) {
    Load<kGroup>(job.rows + (uint64_t{group} * 3 + part) * kGroup, words + part * (kGroup / 4));
  }
#pragma unroll
  for (uint32_t c = 0; c < 3; ++c) {
    const Coefficient coefficient = At(job.coefficients, c);
    typename Make::Element values[kGroup];
#pragma unroll
    for (uint32_t k = 0; k < kGroup; ++k) {
      values[k] = Make::Make(ByteOf(words, 3 * k + c), coefficient);
    }
    const uint64_t store = (uint64_t{row} * 3 + c) * job.choice.groups_per_plane + in_plane;
    Store(job.into + store * sizeof(uint4), Make::Pack(values));
  }
}

}  // namespace penstock::finish::device
