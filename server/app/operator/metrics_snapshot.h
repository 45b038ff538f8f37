// Converts the daemon's views to the input of its metrics.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/app/catalog/catalog.h"
#include "server/feed/engine/engine.h"
#include "server/status/snapshot.h"

namespace penstock::app {

// Call it on the runner's thread.
status::Snapshot TakeSnapshot(feed::Engine& engine, const std::vector<DatasetView>& datasets,
                              base::TimePoint now);

// Parts of TakeSnapshot. Pure.
void AddSession(const feed::SessionInfo& session, status::Snapshot& snapshot);
void AddCounts(const std::map<std::string, feed::DatasetTotals>& totals,
               status::Snapshot& snapshot);
void AddWorkers(const std::vector<workers::WorkerView>& workers, base::TimePoint now,
                status::Snapshot& snapshot);
void AddPython(const feed::MakersView& makers, status::Snapshot& snapshot);
void AddDatasets(const std::vector<DatasetView>& datasets, status::Snapshot& snapshot);
void AddUsers(const std::vector<feed::UserView>& users, status::Snapshot& snapshot);

}  // namespace penstock::app
