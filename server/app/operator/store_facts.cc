#include "server/app/operator/store_facts.h"

#include <algorithm>
#include <cmath>

namespace penstock::app {

static_assert(status::kStoreRetries == store::kRetryReasons);

status::StoreFacts ToStoreFacts(const store::StoreCounts& counts) {
  status::StoreFacts facts = {.requests = counts.transfers.requests,
                              .bytes = counts.transfers.bytes,
                              .under_way = counts.transfers.under_way,
                              .window = counts.pieces.window,
                              .waiting = counts.pieces.waiting,
                              .halvings = counts.pieces.halvings,
                              .retries = counts.retries,
                              .hedges = counts.transfers.hedges,
                              .hedges_first = counts.transfers.hedges_first,
                              .joined = counts.pieces.joined,
                              .parts = counts.pieces.parts,
                              .expected = counts.pieces.expected,
                              .found = counts.pieces.found,
                              .refused = counts.pieces.no_room,
                              .held_bytes = counts.pieces.bytes,
                              .held_max_bytes = counts.most_held_bytes,
                              .answers = counts.transfers.times.count,
                              .answer_seconds = counts.transfers.times.sum_s,
                              .has_cache = counts.has_cache,
                              .cache_bytes = counts.cache.bytes,
                              .cache_max_bytes = counts.most_cache_bytes,
                              .cache_found = counts.cache.found,
                              .cache_kept = counts.cache.kept,
                              .cache_refused = counts.cache.no_room,
                              .cache_damaged = counts.cache.damaged,
                              .cache_removed = counts.cache.removed,
                              .cache_failed = counts.no_mirrors,
                              .cache_evicted = counts.cache.evicted};
  const auto indexes = [&counts](source::IndexFileUse use) {
    return counts.index_files[static_cast<size_t>(use)];
  };
  facts.indexes_used = indexes(source::IndexFileUse::kUsed);
  facts.indexes_refused = indexes(source::IndexFileUse::kRefused);
  facts.indexes_absent = indexes(source::IndexFileUse::kAbsent);
  for (size_t i = 0; i < store::AnswerTimes::kSeconds.size(); ++i)
    facts.answers_within.emplace_back(store::AnswerTimes::kSeconds[i],
                                      counts.transfers.times.at_most[i]);
  return facts;
}

v1::StoreStatus ReportStores(const store::StoreCounts& counts, const store::StoreRates& rates) {
  v1::StoreStatus status;
  status.set_bytes_per_second(static_cast<uint64_t>(std::max(0.0, rates.bytes_per_second)));
  status.set_under_way(static_cast<uint32_t>(std::lround(rates.under_way)));
  status.set_window(static_cast<uint32_t>(counts.pieces.window));
  status.set_requests(counts.transfers.requests);
  status.set_read_bytes(counts.transfers.bytes);
  for (const uint64_t retries : counts.retries) status.set_retries(status.retries() + retries);
  status.set_hedges(counts.transfers.hedges);
  status.set_held_bytes(counts.pieces.bytes);
  status.set_held_bytes_max(counts.most_held_bytes);
  if (!counts.has_cache) return status;
  v1::StoreCacheStatus& cache = *status.mutable_cache();
  cache.set_bytes(counts.cache.bytes);
  cache.set_bytes_max(counts.most_cache_bytes);
  cache.set_hits(counts.cache.found);
  cache.set_kept(counts.cache.kept);
  cache.set_refused(counts.cache.no_room);
  cache.set_damaged(counts.cache.damaged);
  return status;
}

std::optional<v1::StoreStatus> ReportStores(const store::StoreFiles* stores) {
  if (stores == nullptr) return std::nullopt;
  const store::StoreCounts counts = stores->counts();
  if (counts.transfers.requests == 0) return std::nullopt;
  return ReportStores(counts, stores->rates());
}

}  // namespace penstock::app
