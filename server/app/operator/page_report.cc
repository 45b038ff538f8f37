#include "server/app/operator/page_report.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/app/operator/status_reports.h"
#include "server/feed/stats/dataset_counts.h"

namespace penstock::app {
namespace {

constexpr int kMostFeeds = 100, kMostUsers = 64, kMostPageSessions = 200;
constexpr int kMostPageWorkers = 256, kMostPageDatasets = 100, kMostBadSamples = 100;

// Removes what is beyond the limit; returns how many.
template <typename Entries>
uint32_t CutTo(int most, Entries& entries) {
  const int beyond = entries.size() - most;
  if (beyond <= 0) return 0;
  entries.DeleteSubrange(most, beyond);
  return static_cast<uint32_t>(beyond);
}

// States and the like name a path or a reason behind the first colon, if they name any.
std::string BeforeColon(const std::string& text) { return text.substr(0, text.find(':')); }

std::string WithoutPath(const std::string& dataset) { return feed::DatasetCounts::NameOf(dataset); }

void HideDetails(v1::GetStatusResponse& status) {
  status.clear_pid();
  if (!status.serving() && status.reason() != "draining")
    status.set_reason("its operator sees why");
  if (!status.state_directory().empty())
    status.set_state_directory("it does not respond, or cannot be written");
  for (v1::FeedStatus& feed : *status.mutable_feeds()) {
    feed.set_dataset(WithoutPath(feed.dataset()));
    if (feed.bottleneck() == v1::BOTTLENECK_SOURCE) feed.set_verdict("the source is stalled");
  }
  for (v1::GpuStatus& gpu : *status.mutable_gpus())
    if (gpu.state() != "serving") gpu.set_state("cannot be used");
}

void HideDetails(v1::SessionStatus& session) {
  session.clear_name();
  session.clear_client();
  session.clear_pid();
  session.clear_delivery_reason();
  session.set_dataset(WithoutPath(session.dataset()));
  session.set_state(BeforeColon(session.state()));
}

void HideDetails(v1::WorkerStatus& worker) {
  worker.clear_pid();
  worker.clear_reading();
  worker.set_state(BeforeColon(worker.state()));
}

void HideDetails(v1::PythonWorkerStatus& worker) {
  worker.clear_pid();
  worker.clear_host_pid();
  worker.clear_last_end();
  worker.set_dataset(WithoutPath(worker.dataset()));
}

void HideDetails(v1::DatasetStatus& dataset) {
  dataset.clear_path();
  dataset.clear_place();
  dataset.clear_digest();
  dataset.set_name(WithoutPath(dataset.name()));
}

absl::Status WhyNoPicture(const feed::DatasetState& state, uint64_t sample) {
  if (state.quarantine.Find(sample) == nullptr)
    return absl::NotFoundError("the list of bad samples does not have this one");
  if (!state.dataset->extent(sample))
    return absl::NotFoundError("its image is not the bytes of a file, or of a part of one");
  return absl::OkStatus();
}

}  // namespace

void LimitPage(v1::StatusPage& page) {
  v1::StatusOmitted& omitted = *page.mutable_omitted();
  omitted.set_feeds(CutTo(kMostFeeds, *page.mutable_status()->mutable_feeds()));
  omitted.set_users(CutTo(kMostUsers, *page.mutable_status()->mutable_users()));
  omitted.set_sessions(CutTo(kMostPageSessions, *page.mutable_sessions()));
  omitted.set_workers(CutTo(kMostPageWorkers, *page.mutable_workers()));
  omitted.set_python_workers(CutTo(kMostPageWorkers, *page.mutable_python_workers()));
  omitted.set_datasets(CutTo(kMostPageDatasets, *page.mutable_datasets()));
}

void AddDatasets(const std::vector<DatasetView>& datasets, v1::StatusPage& page) {
  std::vector<DatasetView> open;
  for (const DatasetView& view : datasets)
    if (view.state != nullptr) open.push_back(view);
  *page.mutable_datasets() = std::move(*ReportDatasets(open).mutable_datasets());
  auto bad = ReportQuarantine(open, {.page_size = kMostBadSamples});
  if (!bad.ok()) return;
  *page.mutable_quarantine() = std::move(*bad->mutable_entries());
  page.set_quarantine_total(bad->total());
}

absl::StatusOr<std::shared_ptr<const source::Dataset>> FindBadSample(
    const std::vector<DatasetView>& datasets, const status::BadSampleName& name) {
  for (const DatasetView& view : datasets) {
    if (view.state == nullptr || view.name != name.dataset) continue;
    PENSTOCK_RETURN_IF_ERROR(WhyNoPicture(*view.state, name.sample));
    return view.state->dataset;
  }
  return absl::NotFoundError("no dataset of this name is open");
}

void AddPictures(const std::vector<DatasetView>& datasets, v1::StatusPage& page) {
  absl::flat_hash_map<absl::string_view, const feed::DatasetState*> open;
  for (const DatasetView& view : datasets)
    if (view.state != nullptr) open.emplace(view.name, view.state.get());
  page.set_pictures(true);
  for (const v1::QuarantineEntry& entry : page.quarantine()) {
    const auto found = open.find(entry.dataset());
    page.add_quarantine_pictures(found != open.end() &&
                                 WhyNoPicture(*found->second, entry.sample()).ok());
  }
}

void HideDetails(v1::StatusPage& page) {
  page.set_full(false);
  HideDetails(*page.mutable_status());
  for (v1::SessionStatus& session : *page.mutable_sessions()) HideDetails(session);
  for (v1::WorkerStatus& worker : *page.mutable_workers()) HideDetails(worker);
  for (v1::PythonWorkerStatus& worker : *page.mutable_python_workers()) HideDetails(worker);
  for (v1::DatasetStatus& dataset : *page.mutable_datasets()) HideDetails(dataset);
  page.clear_quarantine();
  page.clear_pictures();
  page.clear_quarantine_pictures();
}

}  // namespace penstock::app
