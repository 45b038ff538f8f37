#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/status/metric_groups.h"

namespace penstock::status {
namespace {

struct TimesName {
  const char* name;
  const char* help;
};

// In the order of kTimes.
constexpr std::array<TimesName, kTimes.size()> kTimesNames = {{
    {"sample_read_seconds",
     "Time to read a sample from its source; rows copied in one run count with their mean."},
    {"sample_decode_seconds", "Time to decode and resize a sample in a worker."},
    {"batch_hand_over_seconds",
     "Time from the end of a batch's last sample until the batch is announced to a session."},
    {"batch_copy_seconds", "Time to copy a batch to its GPU, including waiting for a place there."},
    {"batch_ready_seconds",
     "Time that a ready batch waited for its trainer. The daemon may notice that a batch was taken "
     "up to 0.1 s later."},
    {"trainer_wait_seconds",
     "For each batch: how long its trainer had been waiting for it. The daemon looks ten times a "
     "second, so waits of up to 0.1 s may count as none."},
}};

std::optional<SampleExemplar> ToExemplar(const TimesFacts::Bucket& bucket) {
  if (!bucket.example) return std::nullopt;
  SampleExemplar exemplar = {.labels = {{"session", absl::StrCat(bucket.example->session)}},
                             .value = bucket.example->seconds};
  if (!bucket.example->trace_id.empty())
    exemplar.labels.emplace_back("trace_id", bucket.example->trace_id);
  return exemplar;
}

void AddHistogram(const std::string& dataset, const TimesFacts& times, Family& out) {
  uint64_t count = 0;
  for (size_t i = 0; i < times.buckets.size(); ++i) {
    count += times.buckets[i].count;
    const std::string le = i < times.limits.size() ? ToLimitText(times.limits[i]) : "+Inf";
    Sample& sample = out.samples.emplace_back(
        Sample{{{"dataset", dataset}, {"le", le}}, static_cast<double>(count), "_bucket"});
    sample.exemplar = ToExemplar(times.buckets[i]);
  }
  if (count == 0) return out.samples.resize(out.samples.size() - times.buckets.size());
  out.samples.push_back({{{"dataset", dataset}}, times.sum_seconds, "_sum"});
  out.samples.push_back({{{"dataset", dataset}}, static_cast<double>(count), "_count"});
}

}  // namespace

// OpenMetrics wants limits as floating-point numbers.
std::string ToLimitText(double limit) {
  return absl::StrCat(limit, limit == std::floor(limit) ? ".0" : "");
}

void Times(const Snapshot& snapshot, Families& out) {
  for (size_t i = 0; i < kTimesNames.size(); ++i) {
    Family& family = out.Begin(MetricType::kHistogram, kTimesNames[i].name, kTimesNames[i].help);
    for (const auto& [dataset, figures] : snapshot.counts)
      AddHistogram(dataset, figures.times[i], family);
  }
}

}  // namespace penstock::status
