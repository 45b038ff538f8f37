#include "server/feed/core/fault_policy.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/base/check.h"

namespace penstock::feed {

FaultPolicy::FaultPolicy(uint64_t samples, const Options& options) : samples_(samples) {
  PENSTOCK_CHECK(samples >= 1);
  SetOptions(options);
}

void FaultPolicy::SetOptions(const Options& options) {
  const double share = options.max_quarantined_share;
  PENSTOCK_CHECK(share >= 0 && share <= 1);
  options_ = options;
  max_quarantined_ = std::max(options.max_quarantined_minimum,
                              static_cast<uint64_t>(share * static_cast<double>(samples_)));
}

Verdict FaultPolicy::OnStrike(uint64_t sample) {
  if (!bad_.contains(sample) && struck_.insert(sample).second) return Verdict::kRetry;
  OnRefused(sample);
  return Verdict::kQuarantine;
}

void FaultPolicy::OnRefused(uint64_t sample) {
  struck_.erase(sample);
  if (!TooMany()) bad_.insert(sample);
}

void FaultPolicy::Clear() {
  struck_.clear();
  bad_.clear();
}

absl::Status FaultPolicy::Exhausted() const {
  if (!TooMany()) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "too many bad samples: %d of the dataset's %d could not be used, and at most %d may be "
      "(max_quarantined: %g %% of them, at least %d); see 'penstockctl quarantine', then repair or "
      "remove the files, or raise max_quarantined",
      bad_.size(), samples_, std::min(max_quarantined_, samples_ - 1),
      100 * options_.max_quarantined_share, options_.max_quarantined_minimum));
}

}  // namespace penstock::feed
