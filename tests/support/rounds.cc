#include "tests/support/rounds.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace penstock::testing {
namespace {

// Summed over all cores, since boot.
struct Ticks {
  uint64_t all = 0, stolen = 0;
};

Ticks TicksNow() {
  constexpr int kKinds = 8, kSteal = 7;  // proc(5): user, nice, system, idle, …, steal
  std::ifstream stat("/proc/stat");
  std::string cpu;
  stat >> cpu;
  Ticks ticks;
  for (int kind = 0; kind < kKinds; ++kind) {
    uint64_t count = 0;
    stat >> count;
    ticks.all += count;
    if (kind == kSteal) ticks.stolen = count;
  }
  return ticks;
}

double ShareStolenSince(const Ticks& then) {
  const Ticks now = TicksNow();
  return now.all == then.all ? 0
                             : static_cast<double>(now.stolen - then.stolen) /
                                   static_cast<double>(now.all - then.all);
}

}  // namespace

Rounds MeasureRounds(double enough, const std::function<double()>& round) {
  constexpr size_t kFew = 3, kMany = 7;
  constexpr int kMadeAgain = 12;
  constexpr double kMostStolen = 0.05;
  Rounds rounds;
  for (int again = 0;
       rounds.sorted.size() < kFew || (rounds.sorted.size() < kMany && rounds.median() < enough);) {
    const Ticks before = TicksNow();
    const double result = round();
    if (const double stolen = ShareStolenSince(before);
        stolen > kMostStolen && again < kMadeAgain) {
      std::printf("made again: %.3f while %.0f %% of the time were others'\n", result,
                  stolen * 100);
      ++again;
      continue;
    }
    rounds.sorted.push_back(result);
    std::sort(rounds.sorted.begin(), rounds.sorted.end());
  }
  return rounds;
}

}  // namespace penstock::testing
