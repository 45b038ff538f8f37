#include "server/status/page/history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::status {
namespace {

struct HistorySums {
  uint64_t samples = 0, batches = 0;
  base::Duration open{}, filled{}, starved{};
};

HistorySums SumUp(const Snapshot& snapshot) {
  HistorySums sums;
  for (const auto& [dataset, counts] : snapshot.counts) {
    sums.samples += counts.samples_decoded;
    sums.batches += counts.batches_announced;
    sums.open += counts.sessions_open;
    sums.filled += counts.sessions_filled;
    sums.starved += counts.sessions_starved;
  }
  return sums;
}

// Four digits are more than a picture shows, and keep the JSON short.
float Rounded(double value) {
  if (!(value > 0)) return 0;
  const double scale = std::pow(10, 3 - std::floor(std::log10(value)));
  return static_cast<float>(std::round(value * scale) / scale);
}

float PerSecond(uint64_t before, uint64_t now, double seconds) {
  return Rounded(static_cast<double>(now - std::min(before, now)) / seconds);
}

float Share(base::Duration part, base::Duration whole) {
  if (whole <= base::Duration::zero()) return 0;
  return Rounded(
      std::min(1.0, std::chrono::duration<double>(part) / std::chrono::duration<double>(whole)));
}

}  // namespace

HistoryRecord ToHistoryRecord(const HistoryPoint& before, const HistoryPoint& now) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  const HistorySums then = SumUp(before.snapshot), sums = SumUp(now.snapshot);
  HistoryRecord record = {.time_unix_ms = now.time_unix_ms,
                          .samples_per_second = PerSecond(then.samples, sums.samples, seconds),
                          .batches_per_second = PerSecond(then.batches, sums.batches, seconds),
                          .starved = Share(sums.starved - then.starved, sums.open - then.open),
                          .occupancy = Share(sums.filled - then.filled, sums.open - then.open),
                          .workers_busy = Rounded(std::min(1.0, now.snapshot.workers_busy)),
                          .stalls = now.snapshot.stalls,
                          .draining = now.draining};
  for (const auto& by_state : now.snapshot.sessions)
    for (const uint64_t sessions : by_state) record.sessions += static_cast<uint32_t>(sessions);
  return record;
}

void History::Add(HistoryPoint now) {
  base::MutexLock lock(mutex_);
  if (last_ && now.at <= last_->at) return;
  if (last_) records_.push_back(ToHistoryRecord(*last_, now));
  if (records_.size() > kHistoryRecords) records_.pop_front();
  last_ = std::move(now);
}

std::vector<HistoryRecord> History::Newest(size_t most) const {
  base::MutexLock lock(mutex_);
  const size_t skipped = records_.size() - std::min(most, records_.size());
  return {records_.begin() + static_cast<ptrdiff_t>(skipped), records_.end()};
}

}  // namespace penstock::status
