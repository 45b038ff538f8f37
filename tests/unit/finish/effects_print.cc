// Prints erased boxes, noise and mixes, one per line. readme_test.py compares them with the Python
// of server/plan/README.md.
#include <bit>
#include <cinttypes>
#include <cstdio>

#include "client/finish/effects/draws.h"
#include "client/finish/effects/noise.h"

namespace {

using namespace penstock;

void PrintErasures(uint64_t seed, uint64_t sample, uint32_t width, uint32_t height) {
  const DrawKey key = {.seed = seed, .epoch = seed / 3, .view = 255, .step = 65535};
  const RandomErasing all[] = {{}, {.probability = 1, .scale_min = 0.5, .scale_max = 1}};
  for (const RandomErasing& erasing : all) {
    const Erasure drawn =
        finish::DrawErasure(erasing, finish::ToSource(key, sample), height, width);
    std::printf("erase %" PRIu64 " %" PRIu64 " %u %u %d %u %u %u %u %" PRIu64 "\n", seed, sample,
                width, height, &erasing != all, drawn.box.x, drawn.box.y, drawn.box.width,
                drawn.box.height, drawn.noise_key);
  }
}

void PrintMix(uint64_t seed, uint64_t first, uint32_t width, uint32_t height) {
  const DrawKey key = {.seed = seed, .epoch = 1 + seed / 3, .view = 0, .step = 2};
  const MixChoice choices[] = {{MixKind::kMixUp, 0.2, 1},
                               {MixKind::kCutMix, 1.0, 0.7},
                               {MixKind::kNone, 1.0, 0.1},
                               {MixKind::kMixUp, 3.5, 0.3}};
  const Mix mix = finish::DrawBatchMix(choices, 0.9, finish::ToSource(key, first), height, width);
  std::printf("mix %" PRIu64 " %" PRIu64 " %u %u %d %" PRIu64 " %u %u %u %u\n", seed, first, width,
              height, static_cast<int>(mix.kind), std::bit_cast<uint64_t>(mix.share), mix.box.x,
              mix.box.y, mix.box.width, mix.box.height);
}

void PrintNoise(uint64_t key, uint64_t pixel) {
  const finish::Normals normals = finish::NoiseOf(key, pixel, 0);
  std::printf("noise %" PRIu64 " %" PRIu64, key, pixel);
  for (const float value : normals.at) std::printf(" %u", std::bit_cast<uint32_t>(value));
  std::printf("\n");
}

}  // namespace

int main() {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{7}, uint64_t{20261121}, UINT64_MAX})
    for (uint64_t i = 0; i < 60; ++i) {
      const uint64_t sample = i % 2 == 0 ? i : UINT64_MAX / (i + 1);
      PrintErasures(seed, sample, 224, 224);
      PrintErasures(seed, sample, 3 + i % 5, 1 + i % 7);
      PrintMix(seed, sample, 224, 160);
      PrintMix(seed, sample, 1 + i % 5, 1 + i % 7);
      PrintNoise(seed, i * 1001);
    }
}
