// The reports of bad samples.
#include <algorithm>

#include "common/base/fault.h"
#include "server/app/operator/status_reports.h"

namespace penstock::app {
namespace {

bool Matches(const DatasetView& view, const std::string& dataset) {
  return dataset.empty() || view.name == dataset || view.path == dataset;
}

void Fill(const DatasetView& view, const source::BadSample& from, v1::QuarantineEntry& to) {
  to.set_dataset(view.name);
  to.set_sample(from.sample);
  to.set_path(from.path);
  to.set_reason(std::string(base::FaultName(from.fault)));
  to.set_time_unix_ms(from.time_unix_ms);
  to.set_quarantined(source::IsQuarantined(from.fault));
  to.set_decoded_by_workers(source::IsDecodedByWorkers(from.fault));
}

// Fills one page of the list, dataset by dataset.
class QuarantinePage {
 public:
  QuarantinePage(const rpc::QuarantineQuery& query, v1::ListQuarantineResponse& page)
      : query_(query), page_(page) {}

  void Add(size_t number, const DatasetView& view) {
    if (number < query_.at_dataset) return;
    const plan::Range range = RangeOf(view);
    const uint64_t from = number == query_.at_dataset ? query_.at_sample : 0;
    const size_t headroom = query_.page_size - static_cast<size_t>(page_.entries_size());
    // Asks for one more than fits, to know whether the list continues.
    for (const source::BadSample& entry :
         view.state->quarantine.Entries(std::max(from, range.first), headroom + 1)) {
      if (!range.Contains(entry.sample)) return;
      if (!page_.next_page_token().empty()) return;
      if (IsFull()) {
        page_.set_next_page_token(absl::StrCat(number, ":", entry.sample));
        return;
      }
      v1::QuarantineEntry& to = *page_.add_entries();
      Fill(view, entry, to);
      bytes_ += to.ByteSizeLong();
    }
  }

 private:
  // A response must stay below gRPC's default limit for clients, 4 MiB.
  static constexpr size_t kMaxBytes = 1 << 20;
  bool IsFull() const {
    return static_cast<uint32_t>(page_.entries_size()) == query_.page_size || bytes_ >= kMaxBytes;
  }

  const rpc::QuarantineQuery& query_;
  v1::ListQuarantineResponse& page_;
  size_t bytes_ = 0;
};

void AddNotOpen(const DatasetView& view, v1::ListQuarantineResponse& response) {
  constexpr uint64_t kMostNames = 100;
  response.set_not_open_total(response.not_open_total() + 1);
  if (response.not_open_total() <= kMostNames) response.add_not_open(view.name);
}

}  // namespace

plan::Range RangeOf(const DatasetView& view) {
  const uint64_t samples = view.state->dataset->samples();
  if (!view.range) return {.first = 0, .count = samples};
  return Resolve(*view.range, samples).value_or(plan::Range{});
}

uint64_t BadSamples(const DatasetView& view) {
  const source::Quarantine& quarantine = view.state->quarantine;
  if (!view.range) return quarantine.samples();
  const plan::Range range = RangeOf(view);
  return quarantine.SamplesIn(range.first, range.count);
}

absl::StatusOr<v1::ListQuarantineResponse> ReportQuarantine(
    const std::vector<DatasetView>& datasets, const rpc::QuarantineQuery& query) {
  v1::ListQuarantineResponse response;
  bool found = query.dataset.empty();
  QuarantinePage page(query, response);
  for (size_t number = 0; number < datasets.size(); ++number) {
    const DatasetView& view = datasets[number];
    if (!Matches(view, query.dataset)) continue;
    found = true;
    if (view.state == nullptr) {
      if (query.at_dataset == 0 && query.at_sample == 0) AddNotOpen(view, response);
      continue;
    }
    response.set_total(response.total() + BadSamples(view));
    page.Add(number, view);
  }
  if (!found)
    return absl::NotFoundError(absl::StrCat("no dataset '", query.dataset,
                                            "' is known; 'penstockctl datasets' lists them"));
  return response;
}

absl::StatusOr<v1::ClearQuarantineResponse> ClearQuarantine(
    const std::vector<DatasetView>& datasets, const std::string& dataset, feed::Engine& engine) {
  const auto view = std::find_if(datasets.begin(), datasets.end(), [&](const DatasetView& v) {
    return !dataset.empty() && Matches(v, dataset);
  });
  if (view == datasets.end() || view->state == nullptr)
    return absl::NotFoundError(
        absl::StrCat("no dataset '", dataset, "' is open; 'penstockctl datasets' lists them"));
  source::Quarantine& quarantine = view->state->quarantine;
  v1::ClearQuarantineResponse response;
  response.set_cleared(quarantine.Clear());
  view->state->ForgetBadSamples();
  engine.QuarantineChanged(*view->state);
  PENSTOCK_RETURN_IF_ERROR(quarantine.Save());
  response.set_version(quarantine.version());
  return response;
}

}  // namespace penstock::app
