#include "server/store/files/store_watch.h"

#include "common/base/units.h"
#include "common/telemetry/log.h"

namespace penstock::store {
namespace {

constexpr base::Duration kSpan = std::chrono::seconds(5);
constexpr base::Duration kLogAgainAfter = std::chrono::minutes(10);

}  // namespace

bool StoreWatch::Noted::IsNews(uint64_t count, base::TimePoint now) {
  if (count <= logged || (logged > 0 && now - at < kLogAgainAfter)) return false;
  logged = count;
  at = now;
  return true;
}

void StoreWatch::Look(const StoreCounts& counts, base::TimePoint now) {
  looks_.push_back(
      {.at = now, .bytes = counts.transfers.bytes, .under_way = counts.transfers.under_way});
  while (now - looks_.front().at > kSpan) looks_.pop_front();
  const double seconds = std::chrono::duration<double>(now - looks_.front().at).count();
  double under_way = 0;
  for (const Sight& look : looks_) under_way += static_cast<double>(look.under_way);
  rates_ = {.bytes_per_second =
                seconds > 0
                    ? static_cast<double>(counts.transfers.bytes - looks_.front().bytes) / seconds
                    : 0,
            .under_way = under_way / static_cast<double>(looks_.size())};
  if (!counts.has_cache) return;
  if (no_room_.IsNews(counts.cache.no_room, now))
    PENSTOCK_LOG(kWarning, "store_cache_full", {"not_kept", counts.cache.no_room},
                 {"bytes", base::FormatBytes(counts.cache.bytes)},
                 {"max", base::FormatBytes(counts.most_cache_bytes)},
                 {"reason",
                  "what was read is not kept: the cache or its disk is full, or writing "
                  "failed"});
  if (no_mirrors_.IsNews(counts.no_mirrors, now))
    PENSTOCK_LOG(kWarning, "store_cache_failed", {"files", counts.no_mirrors},
                 {"reason",
                  "the cache folder cannot be read or written, so nothing of these files "
                  "is kept"});
  if (damaged_.IsNews(counts.cache.damaged, now))
    PENSTOCK_LOG(kWarning, "store_cache_damaged", {"pieces", counts.cache.damaged},
                 {"reason",
                  "what the cache folder kept was damaged, and is read from the store "
                  "again"});
}

}  // namespace penstock::store
