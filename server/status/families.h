// Collects metric families. Its short calls make each group in metrics.cc read like a table.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/status/exposition.h"

namespace penstock::status {

class Families {
 public:
  void Gauge(const std::string& name, const std::string& help, double value) {
    Begin(MetricType::kGauge, name, help).samples.push_back({{}, value});
  }
  void Counter(const std::string& name, const std::string& help, double value) {
    Begin(MetricType::kCounter, name, help).samples.push_back({{}, value});
  }
  // One sample for each member; `sample` makes it.
  template <typename Members, typename MakeSample>
  void Each(MetricType type, const std::string& name, const std::string& help,
            const Members& members, MakeSample sample) {
    Family& family = Begin(type, name, help);
    for (const auto& member : members) family.samples.push_back(sample(member));
  }
  // One sample for each name of a list.
  template <size_t N>
  void ByState(const std::string& name, const std::string& help,
               const std::array<absl::string_view, N>& states,
               const std::array<uint64_t, N>& values) {
    Family& family = Begin(MetricType::kGauge, name, help);
    for (size_t i = 0; i < N; ++i)
      family.samples.push_back(
          {{{"state", std::string(states[i])}}, static_cast<double>(values[i])});
  }
  Family& Begin(MetricType type, const std::string& name, const std::string& help) {
    return families_.emplace_back(Family{"penstock_" + name, help, type, {}});
  }
  void Add(Family family) { families_.push_back(std::move(family)); }
  std::vector<Family> Take() { return std::move(families_); }

 private:
  std::vector<Family> families_;
};

}  // namespace penstock::status
