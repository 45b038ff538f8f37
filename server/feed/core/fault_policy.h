// When a sample is given up, and when a dataset is: strikes and refusals of one dataset's samples,
// and the budget for them. Pure; one owner calls it. What it remembers is bounded by the budget and
// by the rows that are being retried.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "common/base/status.h"

namespace penstock::feed {

enum class Verdict {
  kRetry,       // once more, on a fresh worker
  kQuarantine,  // never again
};

class FaultPolicy {
 public:
  // More bad samples than the larger of share · samples and minimum, or all of them, is too many.
  struct Options {
    double max_quarantined_share = 0.001;
    uint64_t max_quarantined_minimum = 10;
  };

  // 0 ≤ max_quarantined_share ≤ 1.
  explicit FaultPolicy(uint64_t samples) : FaultPolicy(samples, Options()) {}
  FaultPolicy(uint64_t samples, const Options& options);

  // A worker crashed, hung or broke a limit with the sample in hand: the second time is its last.
  Verdict OnStrike(uint64_t sample);
  // A decoder refused the sample, or an earlier run had given it up. Counts once for each sample.
  void OnRefused(uint64_t sample);
  // It was decoded: an earlier strike was not its fault.
  void OnDecoded(uint64_t sample) { struck_.erase(sample); }
  // The list was cleared: every sample gets a new chance.
  void Clear();

  const Options& options() const { return options_; }
  bool TooMany() const { return bad_.size() > max_quarantined_ || bad_.size() >= samples_; }
  uint64_t bad_samples() const { return bad_.size(); }
  uint64_t max_quarantined() const { return max_quarantined_; }
  // DataLoss, with the numbers and what to do, once too many samples are bad.
  absl::Status Exhausted() const;

 private:
  uint64_t samples_;
  Options options_;
  uint64_t max_quarantined_;
  absl::flat_hash_set<uint64_t> struck_;  // once, and not bad yet
  absl::flat_hash_set<uint64_t> bad_;     // refused or quarantined; grows no more once too many
};

}  // namespace penstock::feed
