// Writes metric families in Prometheus' text format, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock::status {

enum class MetricType { kCounter, kGauge, kHistogram };

using Label = std::pair<std::string, std::string>;  // name, value

struct Sample {
  std::vector<Label> labels;
  double value = 0;
  std::string suffix = {};  // of the family's name: _bucket, _sum, _count of histograms
};

struct Family {
  std::string name, help;
  MetricType type = MetricType::kGauge;
  std::vector<Sample> samples;
};

// Omits families without samples. **Requires**: names are valid; they are ours. Label values and
// help texts may contain any bytes; bytes that are not UTF-8 become '?'.
std::string Format(const std::vector<Family>& families);

}  // namespace penstock::status
