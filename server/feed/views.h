// What status shows: plain numbers, copied on the runner's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/feed/core.h"
#include "server/pool/pool.h"

namespace penstock::feed {

struct FeedInfo {
  uint64_t fingerprint = 0;
  std::string dataset;
  uint32_t user = 0;
  uint32_t sessions = 0;
  FeedView counts;
};

struct EngineView {
  pool::Usage pool;
  SlotCounts slots;
  uint64_t samples_decoded = 0;
  uint64_t samples_replaced = 0;
  std::vector<FeedInfo> feeds;
  absl::Status workers;  // why no worker can be had, if so
};

struct SessionInfo {
  uint64_t id = 0;
  std::string name, client, dataset, state;
  uint32_t user = 0;
  int32_t pid = 0;
  uint64_t fingerprint = 0;
  uint32_t rank = 0, world = 1, batch_size = 0, window = 0;
  uint64_t epoch = 0, consumed = 0;
  uint64_t announced = 0, taken = 0, released = 0;
};

}  // namespace penstock::feed
