// Prometheus' text format, version 0.0.4: families of samples into the text that is scraped.
// https://prometheus.io/docs/instrumenting/exposition_formats/. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock::status {

enum class MetricType { kCounter, kGauge };

using Label = std::pair<std::string, std::string>;  // name, value

struct Sample {
  std::vector<Label> labels;
  double value = 0;
};

struct Family {
  std::string name, help;
  MetricType type = MetricType::kGauge;
  std::vector<Sample> samples;
};

// Families without samples are left out. Names must be right: they are ours. Values of labels and
// helps may be any bytes; what is not UTF-8 is written as '?'.
std::string Format(const std::vector<Family>& families);

}  // namespace penstock::status
