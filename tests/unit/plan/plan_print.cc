// Prints orders, substitutes, draw numbers, windows and mixtures, one per line. readme_test.py
// compares them with the README's Python.
#include <cinttypes>
#include <cstdio>
#include <initializer_list>

#include "server/plan/mixture.h"
#include "server/plan/plan.h"
#include "server/plan/windows.h"

using penstock::plan::kMaxSamples;
using penstock::plan::Mixture;
using penstock::plan::MixtureSpec;
using penstock::plan::Order;

namespace {

void PrintWindows() {
  for (uint64_t samples : {1, 9, 1000, 20'011}) {
    for (uint64_t shard : {1, 7, 100, 5000}) {
      for (uint32_t shards : {1u, 3u, 50u}) {
        const penstock::plan::WindowedOrder order({shard, shards}, samples, 7, 3);
        for (uint64_t index : {uint64_t{0}, samples / 3, samples / 2, samples - 1})
          std::printf("windows %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 "\n",
                      samples, index, shard, shards, order(index));
      }
    }
  }
}

// readme_test.py has the same mixture.
void PrintMixture() {
  const MixtureSpec spec = {.samples = {100, 7, 1, 5000},
                            .epoch_samples = 1001,
                            .schedule = {{0, {0.5, 0.25, 1e-3, 3}}, {2, {0, 1, 0, 2}}}};
  const Mixture mixture = *Mixture::Make(spec);
  for (uint64_t epoch = 0; epoch < 4; ++epoch)
    for (uint64_t place = 0; place < 1001; place += 10)
      for (const Order order : {Order::kSequential, Order::kShuffled, Order::kShuffledInWindows})
        std::printf("mixture %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                    static_cast<uint32_t>(order), epoch, place,
                    mixture.SampleAt(order, {10, 2}, 99, epoch, place));
}

}  // namespace

int main() {
  PrintWindows();
  PrintMixture();
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
