// What the stores' parts have done since the start, and how fast they are now. Plain values.
#pragma once

#include <array>
#include <cstdint>

#include "server/source/files/remote_file.h"
#include "server/store/cache/cache_folder.h"
#include "server/store/client/retry_reason.h"
#include "server/store/client/transfer_counts.h"
#include "server/store/files/pieces.h"

namespace penstock::store {

struct StoreCounts {
  TransferCounts transfers = {};
  RetryCounts retries = {};
  Pieces::Counts pieces = {};
  uint64_t most_held_bytes = 0;  // of pieces in memory
  bool has_cache = false;
  CacheFolder::Counts cache = {};
  uint64_t most_cache_bytes = 0;
  uint64_t no_mirrors = 0;  // files that the cache could not take at all
  std::array<uint64_t, source::kIndexFileUses> index_files = {};  // by what came of them
};

// Means over the last seconds.
struct StoreRates {
  double bytes_per_second = 0;
  double under_way = 0;  // requests
};

}  // namespace penstock::store
