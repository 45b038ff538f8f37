// Decides when to give up on a sample, and on a dataset: counts strikes and refusals of one
// dataset's samples against a budget. Pure. Its memory is bounded by the budget and the rows being
// retried.
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
  // Too many bad samples are more than the larger of share · samples and minimum, or all samples.
  struct Options {
    double max_quarantined_share = 0.001;
    uint64_t max_quarantined_minimum = 10;
  };

  // **Requires**: 0 ≤ max_quarantined_share ≤ 1.
  explicit FaultPolicy(uint64_t samples) : FaultPolicy(samples, Options()) {}
  FaultPolicy(uint64_t samples, const Options& options);

  // A worker crashed, hung or exceeded a limit while decoding the sample. The second strike is the
  // last.
  Verdict OnStrike(uint64_t sample);
  // A decoder refused the sample, or it was already quarantined. Counts once per sample.
  void OnRefused(uint64_t sample);
  // The sample was decoded, so an earlier strike was not its fault.
  void OnDecoded(uint64_t sample) { struck_.erase(sample); }
  // The quarantine was cleared: all samples may be tried again.
  void Clear();
  // Other limits hold from now on, for the samples that are bad already, too.
  void SetOptions(const Options& options);

  const Options& options() const { return options_; }
  bool TooMany() const { return bad_.size() > max_quarantined_ || bad_.size() >= samples_; }
  uint64_t bad_samples() const { return bad_.size(); }
  uint64_t max_quarantined() const { return max_quarantined_; }
  // DataLoss, with the numbers and the remedy, once too many samples are bad.
  absl::Status Exhausted() const;

 private:
  uint64_t samples_;
  Options options_;
  uint64_t max_quarantined_ = 0;
  absl::flat_hash_set<uint64_t> struck_;  // struck once, not yet bad
  // Refused or quarantined; stops growing once there are too many.
  absl::flat_hash_set<uint64_t> bad_;
};

}  // namespace penstock::feed
