// Converts the daemon's views to the messages that operators get.
#pragma once

#include <string>
#include <vector>

#include "penstock/v1/admin.pb.h"
#include "server/app/catalog/catalog.h"
#include "server/feed/engine/engine.h"

namespace penstock::app {

// Operators see everything. Others see their own user's state and how busy the daemon is, but no
// other user's feeds, sessions or workers, and sample paths only of datasets that they may open.
v1::GetStatusResponse ReportStatus(const feed::Engine& engine, const Opener& viewer,
                                   base::TimePoint now);
v1::DrainResponse ReportDrain(const feed::Engine& engine);
v1::ListSessionsResponse ReportSessions(const feed::Engine& engine, const Opener& viewer);
v1::ListWorkersResponse ReportWorkers(const feed::Engine& engine, const Opener& viewer,
                                      base::TimePoint now);
v1::PythonMakersStatus ReportPythonMakers(const feed::MakersView& makers);
v1::PythonWorkerStatus ReportPythonWorker(const pyworkers::PyWorkerView& view, base::TimePoint now);
// Completes the report with what the system says of the processes. Reads /proc; not for the runner.
void AddMemory(v1::ListWorkersResponse& workers);
v1::WorkerStatus ReportWorker(const workers::WorkerView& view, base::TimePoint now);
v1::ListDatasetsResponse ReportDatasets(const std::vector<DatasetView>& datasets);

// The samples that the name of an open dataset stands for; none if its range exceeds the dataset.
plan::Range RangeOf(const DatasetView& view);

// Number of known bad samples of an open dataset's name: refused, quarantined, or reported by a
// GPU's user. Those outside of its range belong to other names, whose groups may differ.
uint64_t BadSamples(const DatasetView& view);

// One page of the list of the same bad samples, over all open datasets if the query names none.
// **Errors**: NotFound if it names one that is not open.
absl::StatusOr<v1::ListQuarantineResponse> ReportQuarantine(
    const std::vector<DatasetView>& datasets, const rpc::QuarantineQuery& query);

rpc::Progress ReportProgress(const feed::SessionProgress& progress);

// Clears a dataset's bad samples, also those outside of the name's range, so that they are tried
// again. Call it on the runner's thread.
absl::StatusOr<v1::ClearQuarantineResponse> ClearQuarantine(
    const std::vector<DatasetView>& datasets, const std::string& dataset, feed::Engine& engine);

}  // namespace penstock::app
