// Which metrics there are: what the daemon knows of itself into families, one function a group.
// Names and units are Prometheus': prefix penstock_, base units, _total for what only grows. Pure.
//
// What always holds: no label has a sample, a path, a session or a process; a family has a bounded
// number of series, whatever clients do. Users have their numbers, the first kMaxUsers that came.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/status/exposition.h"
#include "server/status/snapshot.h"

namespace penstock::status {

// So many datasets have series of their own; what else there is is summed up under kOther, which no
// dataset of a configuration can be called.
inline constexpr size_t kMaxDatasets = 256;
inline constexpr size_t kMaxUsers = 32;  // likewise
inline constexpr absl::string_view kOther = "(other)";

// How scraping itself goes.
struct ScrapeFacts {
  uint64_t answered = 0, refused = 0, dropped = 0;
  base::Duration snapshot_age{};  // since the start, while there is none
};

// Without a snapshot: what needs none.
std::vector<Family> Metrics(const Facts& facts, const Snapshot* snapshot,
                            const ScrapeFacts& scrapes);

}  // namespace penstock::status
