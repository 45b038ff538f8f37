// All metrics: turns the daemon's facts into metric families, one function per group. Names and
// units follow Prometheus' conventions: prefix penstock_, base units, _total for counters. Pure.
//
// Invariants: no label contains a sample, path, session or process, and every family has a bounded
// number of series, whatever clients do. The first kMaxUsers users are labelled by their numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/status/exposition.h"
#include "server/status/snapshot.h"

namespace penstock::status {

// The first kMaxDatasets datasets have their own series; the rest are summed under kOther, which
// cannot be the name of a configured dataset.
inline constexpr size_t kMaxDatasets = 256;
inline constexpr size_t kMaxUsers = 32;  // the same for users
inline constexpr absl::string_view kOther = "(other)";

// Facts about scraping itself.
struct ScrapeFacts {
  uint64_t answered = 0, refused = 0, dropped = 0;
  base::Duration snapshot_age{};  // time since the start, if there is no snapshot yet
};

// Without a snapshot, returns only the metrics that need none.
std::vector<Family> Metrics(const Facts& facts, const Snapshot* snapshot,
                            const ScrapeFacts& scrapes);

}  // namespace penstock::status
