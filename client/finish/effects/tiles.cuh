// The kernel with effects for all other cases: as Tiles in ../tiles.cuh, with a second piece of
// shared memory for the partner's pixels.
#pragma once

#include "client/finish/effects/values.cuh"
#include "client/finish/tiles.cuh"

namespace penstock::finish::device {

// One piece of a row: as it is stored, or computed.
__device__ inline const uint8_t* PieceOf(const EffectsJob& effects, uint32_t row, uint64_t first,
                                         uint32_t count, uint8_t* shared) {
  const Job& job = effects.job;
  if (job.rows == nullptr)
    return Compute(job.synthetic, SampleOf(job.synthetic, row), first * job.channels,
                   count * job.channels, shared);
  return Fetch(job.rows + (row * job.pixels + first) * job.channels, count * job.channels, shared);
}

template <Type type, Division division>
__global__ void __launch_bounds__(kThreads)
    EffectTiles(const __grid_constant__ EffectsJob effects, Layout layout) {
  using Make = Maker<type, division>;
  using Element = typename Make::Element;
  alignas(16) __shared__ uint8_t shared[2][kTileBytes + 2 * kVector];
  __shared__ CoefficientTable table;  // indexed at run time
  const Job& job = effects.job;
  if (threadIdx.x < kMaxChannels) {
    table.mean[threadIdx.x] = job.coefficients.mean[threadIdx.x];
    table.stddev[threadIdx.x] = job.coefficients.stddev[threadIdx.x];
    table.inverse[threadIdx.x] = job.coefficients.inverse[threadIdx.x];
  }
  if (job.rows == nullptr) {
    MakeLabels(job);
  } else {
    CopyLabels(job);
  }
  MakeSoftLabels(effects);
  const auto place = static_cast<uint32_t>(blockIdx.x / job.choice.tiles_per_row);
  const uint32_t row = effects.first_row + place;
  const uint64_t first = (blockIdx.x - place * job.choice.tiles_per_row) * job.choice.tile_pixels;
  const uint64_t left = job.pixels - first;
  const uint32_t count =
      left < job.choice.tile_pixels ? static_cast<uint32_t>(left) : job.choice.tile_pixels;
  const bool mixed = type != Type::kUInt8 && effects.mix != MixKind::kNone;
  const uint8_t* own = PieceOf(effects, row, first, count, shared[0]);
  const uint8_t* partner = own;
  if (mixed) partner = PieceOf(effects, PartnerOf(row, effects.rows), first, count, shared[1]);
  __syncthreads();

  const Box box = BoxAt(effects, place + 1), partners = BoxAt(effects, place);
  const Box cut = ToCut(effects);
  const auto value = [&](const uint8_t* bytes, const Box& erased, uint32_t at, uint32_t channel,
                         uint32_t x, uint32_t y) {
    if (erased.Has(x, y))
      return effects.noise ? PixelNoise(erased.noise_key, y * effects.width + x, channel)
                           : effects.value[channel];
    return ValueOf<type, division>(bytes[at], At(table, channel));
  };
  const auto make = [&](uint32_t at, uint32_t pixel, uint32_t channel) -> Element {
    const auto in_image = static_cast<uint32_t>(first) + pixel;
    const uint32_t y = in_image / effects.width, x = in_image - y * effects.width;
    if (!mixed) return Make::Round(value(own, box, at, channel, x, y));
    if (effects.mix == MixKind::kCutMix)
      return Make::Round(cut.Has(x, y) ? value(partner, partners, at, channel, x, y)
                                       : value(own, box, at, channel, x, y));
    return Make::Round(MixedUp(effects, value(partner, partners, at, channel, x, y),
                               value(own, box, at, channel, x, y)));
  };
  const uint64_t row_begin = row * job.pixels * job.channels;
  if (layout == Layout::kNHWC) {
    StoreInOrder<Make>(count * job.channels, job.channels,
                       job.into + (row_begin + first * job.channels) * sizeof(Element), make);
  } else {
    StorePlanes<Make>(count, job.channels, job.into + (row_begin + first) * sizeof(Element),
                      job.pixels * sizeof(Element), make);
  }
}

}  // namespace penstock::finish::device
