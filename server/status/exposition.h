// Writes metric families in Prometheus' text format, version 0.0.4, or in that of
// OpenMetrics 1.0.0, which has exemplars:
// https://prometheus.io/docs/instrumenting/exposition_formats/. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::status {

enum class MetricType { kCounter, kGauge, kHistogram };

using Label = std::pair<std::string, std::string>;  // name, value

// One observation that a histogram's bucket counted.
struct SampleExemplar {
  std::vector<Label> labels = {};  // at most 128 characters together
  double value = 0;
};

struct Sample {
  std::vector<Label> labels;
  double value = 0;
  std::string suffix = {};  // of the family's name: _bucket, _sum, _count of histograms
  std::optional<SampleExemplar> exemplar = {};  // only OpenMetrics shows it
};

struct Family {
  std::string name, help;
  MetricType type = MetricType::kGauge;
  std::vector<Sample> samples;
};

enum class TextFormat { kPrometheus, kOpenMetrics };

// Omits families without samples. **Requires**: names are valid, and those of counters end in
// _total; they are ours. Label values and
// help texts may contain any bytes; bytes that are not UTF-8 become '?'.
std::string Format(const std::vector<Family>& families,
                   TextFormat format = TextFormat::kPrometheus);

}  // namespace penstock::status
