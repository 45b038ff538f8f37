// What the transfers have done since the start. Plain values.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::store {

// How long complete answers took: numbers of those that took at most so long.
struct AnswerTimes {
  static constexpr std::array<double, 12> kSeconds = {0.002, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                      0.25,  0.5,   1,    2.5,   5,    10};
  std::array<uint64_t, kSeconds.size()> at_most = {};
  uint64_t count = 0;
  double sum_s = 0;

  void Add(base::Duration took) {
    const double seconds = std::chrono::duration<double>(took).count();
    for (size_t i = 0; i < kSeconds.size(); ++i) at_most[i] += seconds <= kSeconds[i] ? 1 : 0;
    ++count;
    sum_s += seconds;
  }
};

struct TransferCounts {
  uint64_t requests = 0;      // sent, second ones included
  uint64_t bytes = 0;         // of answers that succeeded, as far as they got
  uint64_t under_way = 0;     // transfers
  uint64_t hedges = 0;        // second requests
  uint64_t hedges_first = 0;  // of these, those whose answer was complete first
  AnswerTimes times = {};     // of requests for ranges
};

}  // namespace penstock::store
