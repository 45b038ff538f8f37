// Prints orders, substitutes and draw numbers, one a line, for readme_test.py to compare with the
// README's Python.
#include <cinttypes>
#include <cstdio>
#include <initializer_list>

#include "server/plan/plan.h"

using penstock::plan::kMaxSamples;
using penstock::plan::Order;

int main() {
  const uint64_t seeds[] = {0, 1, 20261121, UINT64_MAX};
  const uint64_t epochs[] = {0, 1, 90, UINT64_MAX};
  for (uint64_t samples : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{10}, uint64_t{256},
                           uint64_t{257}, uint64_t{50000}, uint64_t{1'000'000'000}, kMaxSamples}) {
    for (uint64_t seed : seeds) {
      for (uint64_t epoch : epochs) {
        for (uint64_t index : {uint64_t{0}, samples / 3, samples - 1}) {
          std::printf("order %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                      samples, seed, epoch, index,
                      penstock::plan::SampleAt(Order::kShuffled, samples, seed, epoch, index));
          std::printf("substitute %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                      samples, seed, epoch, index,
                      penstock::plan::SubstituteFor(samples, seed, epoch, index, 3));
          std::printf("draw %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", samples,
                      seed, epoch, index, penstock::plan::DrawNumber(index, seed));
        }
      }
    }
  }
}
