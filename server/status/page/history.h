// The last hour in numbers: a ring with one record for every five seconds. In memory alone, so it
// begins when the daemon starts.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/status/snapshot.h"

namespace penstock::status {

inline constexpr std::chrono::seconds kHistoryInterval(5);
inline constexpr size_t kHistoryRecords = 720;  // an hour

// As in StatusHistory (page.proto).
struct HistoryRecord {
  int64_t time_unix_ms = 0;
  float samples_per_second = 0, batches_per_second = 0;
  float starved = 0, occupancy = 0, workers_busy = 0;
  uint32_t sessions = 0, stalls = 0;
  bool draining = false;
};

// The daemon at one moment.
struct HistoryPoint {
  base::TimePoint at{};
  int64_t time_unix_ms = 0;
  bool draining = false;
  Snapshot snapshot = {};
};

// What happened between two moments. Pure. **Requires**: `now` is later.
HistoryRecord ToHistoryRecord(const HistoryPoint& before, const HistoryPoint& now);

class History {
 public:
  // The first point only begins the first interval.
  void Add(HistoryPoint now);
  // The newest records, at most `most`, oldest first.
  std::vector<HistoryRecord> Newest(size_t most) const;

 private:
  mutable base::Mutex mutex_;
  std::optional<HistoryPoint> last_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<HistoryRecord> records_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::status
