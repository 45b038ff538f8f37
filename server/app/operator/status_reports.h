// From the daemon's views to the messages that operators see.
#pragma once

#include <string>
#include <vector>

#include "penstock/v1/admin.pb.h"
#include "server/app/catalog/catalog.h"
#include "server/feed/engine/engine.h"

namespace penstock::app {

// Operators are shown everything, others what is their own user's, and how busy the daemon is: no
// other user's feed, session or worker, and no sample's path but of datasets that they may open.
v1::GetStatusResponse ReportStatus(const feed::Engine& engine, const Opener& viewer,
                                   base::TimePoint now);
v1::DrainResponse ReportDrain(const feed::Engine& engine);
v1::ListSessionsResponse ReportSessions(const feed::Engine& engine, const Opener& viewer);
v1::ListWorkersResponse ReportWorkers(const feed::Engine& engine, const Opener& viewer,
                                      base::TimePoint now);
v1::WorkerStatus ReportWorker(const workers::WorkerView& view, base::TimePoint now);
v1::ListDatasetsResponse ReportDatasets(const std::vector<DatasetView>& datasets);

// How many of a dataset's samples are known to be bad: refused or quarantined.
uint64_t BadSamples(const feed::DatasetState& dataset);

// One page, of all that are open when the query names none; NotFound when it names none that is.
absl::StatusOr<v1::ListQuarantineResponse> ReportQuarantine(
    const std::vector<DatasetView>& datasets, const rpc::QuarantineQuery& query);

rpc::Progress ReportProgress(const feed::SessionProgress& progress);

// Forgets a dataset's bad samples, so that they are tried again. On the runner's thread.
absl::StatusOr<v1::ClearQuarantineResponse> ClearQuarantine(
    const std::vector<DatasetView>& datasets, const std::string& dataset, feed::Engine& engine);

}  // namespace penstock::app
