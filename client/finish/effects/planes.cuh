// The kernel with effects for three channels to planes, both aligned: as ThreePlanes in
// ../linear.cuh. A thread also reads its pixels of the partner's row, which are in the L2 cache,
// because the blocks of the row before have just read them.
#pragma once

#include "client/finish/effects/values.cuh"
#include "client/finish/linear.cuh"

namespace penstock::finish::device {

template <uint32_t kGroup>
struct GroupWords {
  uint32_t at[3 * kGroup / 4];
};

template <uint32_t kGroup>
__device__ GroupWords<kGroup> LoadGroup(const Job& job, uint32_t row, uint32_t in_plane) {
  const uint64_t group = uint64_t{row} * job.choice.groups_per_plane + in_plane;
  GroupWords<kGroup> words;
#pragma unroll
  for (uint32_t part = 0; part < 3; ++part)
    Load<kGroup>(job.rows + (group * 3 + part) * kGroup, words.at + part * (kGroup / 4));
  return words;
}

// Which of a group's pixels are in the box, one bit for each. (x, y): its first pixel.
template <uint32_t kGroup>
__device__ uint32_t PixelsIn(const Box& box, uint32_t width, uint32_t x, uint32_t y) {
  uint32_t pixels = 0;
  if (box.width == 0) return pixels;
#pragma unroll
  for (uint32_t k = 0; k < kGroup; ++k) {
    if (box.Has(x, y)) pixels |= 1u << k;
    if (++x == width) x = 0, ++y;
  }
  return pixels;
}

// A group of pixels of one row, with what is erased of them.
template <uint32_t kGroup>
struct Group {
  GroupWords<kGroup> words;
  uint32_t erased = 0;  // which pixels
  uint32_t cut = 0;     // which pixels are the partner's
  uint64_t noise_key = 0, partners_key = 0;
};

// Takes the partner's pixels where CutMix's box is.
template <uint32_t kGroup>
__device__ void Cut(const Group<kGroup>& partner, uint32_t cut, Group<kGroup>& own) {
  if (cut == 0) return;
#pragma unroll
  for (uint32_t w = 0; w < 3 * kGroup / 4; ++w) {
    uint32_t mask = 0;
#pragma unroll
    for (uint32_t byte = 0; byte < 4; ++byte)
      if (cut >> ((4 * w + byte) / 3) & 1) mask |= 0xFFu << (8 * byte);
    own.words.at[w] = (own.words.at[w] & ~mask) | (partner.words.at[w] & mask);
  }
  own.erased = (own.erased & ~cut) | (partner.erased & cut);
  own.cut = cut;
  own.partners_key = partner.noise_key;
}

// Channel c of pixel k. `first`: number of the group's first pixel in its image.
template <Type type, Division division, bool erases, uint32_t kGroup>
__device__ float ValueIn(const EffectsJob& effects, const Group<kGroup>& group, uint32_t k,
                         uint32_t c, const Coefficient& coefficient, uint32_t first) {
  if constexpr (erases) {
    if (group.erased >> k & 1) {
      const uint64_t key = group.cut >> k & 1 ? group.partners_key : group.noise_key;
      if (effects.noise) return PixelNoise(key, first + k, c);
      return effects.value[c];
    }
  }
  return ValueOf<type, division>(ByteOf(group.words.at, 3 * k + c), coefficient);
}

// Whether a group that begins here may have pixels of CutMix's box.
__device__ inline bool MayBeCut(const EffectsJob& effects, uint32_t group, uint32_t x, uint32_t y) {
  const Box cut = ToCut(effects);
  if (x + group > effects.width) return true;  // it goes on in the next line
  return y - cut.y < cut.height && x < cut.x + cut.width && x + group > cut.x;
}

template <Type type, Division division, bool erases>
__global__ void __launch_bounds__(kThreads)
    EffectPlanes(const __grid_constant__ EffectsJob effects) {
  using Make = Maker<type, division>;
  constexpr uint32_t kGroup = Make::kGroup;
  const Job& job = effects.job;
  CopyLabels(job);
  MakeSoftLabels(effects);
  const uint32_t group = blockIdx.x * kThreads + threadIdx.x;
  if (group >= job.choice.groups) return;
  const uint32_t place = group / job.choice.groups_per_plane;
  const uint32_t in_plane = group - place * job.choice.groups_per_plane;
  const uint32_t row = effects.first_row + place, first = in_plane * kGroup;
  const uint32_t y = first / effects.width, x = first - y * effects.width;
  const bool mixup = type != Type::kUInt8 && effects.mix == MixKind::kMixUp;
  const bool cutmix =
      type != Type::kUInt8 && effects.mix == MixKind::kCutMix && MayBeCut(effects, kGroup, x, y);

  Group<kGroup> own, partner;
  own.words = LoadGroup<kGroup>(job, row, in_plane);
  if (mixup || cutmix)
    partner.words = LoadGroup<kGroup>(job, PartnerOf(row, effects.rows), in_plane);
  if constexpr (erases) {
    const Box box = BoxAt(effects, place + 1), partners = BoxAt(effects, place);
    own.erased = PixelsIn<kGroup>(box, effects.width, x, y);
    own.noise_key = box.noise_key;
    partner.erased = PixelsIn<kGroup>(partners, effects.width, x, y);
    partner.noise_key = partners.noise_key;
  }
  if (cutmix) Cut(partner, PixelsIn<kGroup>(ToCut(effects), effects.width, x, y), own);
  const auto store = [&](const auto& make) {
#pragma unroll
    for (uint32_t c = 0; c < 3; ++c) {
      const Coefficient coefficient = At(job.coefficients, c);
      typename Make::Element values[kGroup];
#pragma unroll
      for (uint32_t k = 0; k < kGroup; ++k) values[k] = Make::Round(make(k, c, coefficient));
      const uint64_t at = (uint64_t{row} * 3 + c) * job.choice.groups_per_plane + in_plane;
      Store(job.into + at * sizeof(uint4), Make::Pack(values));
    }
  };
  const auto value = [&](const Group<kGroup>& of, uint32_t k, uint32_t c, const Coefficient& with) {
    return ValueIn<type, division, erases>(effects, of, k, c, with, first);
  };
  if (mixup) {
    store([&](uint32_t k, uint32_t c, const Coefficient& with) {
      return MixedUp(effects, value(partner, k, c, with), value(own, k, c, with));
    });
  } else {
    store([&](uint32_t k, uint32_t c, const Coefficient& with) { return value(own, k, c, with); });
  }
}

}  // namespace penstock::finish::device
