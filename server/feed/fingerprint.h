// What makes two feeds the same: dataset, order, seed and decoding.
#pragma once

#include <cstdint>

#include "server/decode/spec.h"
#include "server/plan/plan.h"

namespace penstock::feed {

struct FeedSpec {
  uint64_t dataset_digest = 0;
  uint64_t samples = 0;
  plan::Order order = plan::Order::kSequential;
  uint64_t seed = 0;
  decode::Spec decoding;
};

// 64 bits that differ for feeds that differ, whatever the machine; never 0.
uint64_t Fingerprint(const FeedSpec& spec);

}  // namespace penstock::feed
