// A weighted mixture of datasets as one feed: at each place of an epoch, which part it is of and
// which of its samples. A place is found by going down a binary tree over the epoch, which halves
// what each part has, so that parts come evenly everywhere: O(parts · log samples) in time,
// O(parts) in memory, and any place is reached at once. README.md specifies it. Immutable; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "server/plan/plan.h"
#include "server/plan/windows.h"

namespace penstock::plan {

inline constexpr uint32_t kMaxParts = 64;

struct MixtureSpec {
  // Of the parts, by their numbers. The mixture's samples are theirs, part behind part.
  std::vector<uint64_t> samples;
  uint64_t epoch_samples = 0;
  struct Weights {
    uint64_t from_epoch = 0;
    std::vector<double> weights;  // one for each part; only their ratios count
    bool operator==(const Weights&) const = default;
  };
  std::vector<Weights> schedule;  // the first from epoch 0 on, each until the next one
};

class Mixture {
 public:
  // InvalidArgument names what cannot be.
  static absl::StatusOr<Mixture> Make(const MixtureSpec& spec);

  uint64_t samples() const { return firsts_.back() + samples_.back(); }  // of all parts
  uint64_t epoch_samples() const { return epoch_samples_; }
  uint32_t parts() const { return static_cast<uint32_t>(samples_.size()); }
  // The part's samples among those of all parts.
  Range PartRange(uint32_t part) const { return {firsts_[part], samples_[part]}; }
  uint32_t PartOf(uint64_t sample) const;  // sample < samples()
  // How many samples an epoch has of each part: as the weights say, but for less than one sample.
  const std::vector<uint64_t>& CountsOf(uint64_t epoch) const { return StageOf(epoch).counts; }

  // A part is gone through pass after pass, each a permutation of its samples: none comes again
  // before all others of its part came.
  struct Draw {
    uint32_t part = 0;
    uint64_t pass = 0;
    uint64_t index = 0;  // within the pass
  };
  Draw At(uint64_t seed, uint64_t epoch, uint64_t place) const;  // place < epoch_samples()
  // The sample there, among those of all parts.
  uint64_t SampleAt(Order order, const Windows& windows, uint64_t seed, uint64_t epoch,
                    uint64_t place) const;

  // 64 bits of all that decides, the same on every machine.
  uint64_t hash() const;

 private:
  friend class MixedEpoch;
  // The epochs from one on that have the same weights.
  struct Stage {
    uint64_t from_epoch = 0;
    std::vector<uint64_t> counts;
  };
  const Stage& StageOf(uint64_t epoch) const;
  unsigned __int128 DrawnBefore(uint32_t part, uint64_t epoch) const;

  std::vector<uint64_t> samples_, firsts_;
  uint64_t epoch_samples_ = 0;
  std::vector<Stage> stages_;
};

// One epoch of a mixture, which must outlive it: the same answers, for many places at half the
// cost.
class MixedEpoch {
 public:
  MixedEpoch(const Mixture& mixture, uint64_t seed, uint64_t epoch);
  Mixture::Draw At(uint64_t place) const;
  uint64_t SampleAt(Order order, const Windows& windows, uint64_t place) const;

 private:
  const Mixture& mixture_;
  const std::vector<uint64_t>& counts_;
  uint64_t seed_, epoch_, key_;
  uint64_t begin_;                                  // where on the ring the epoch begins …
  std::array<uint64_t, kMaxParts> before_begin_{};  // … and what of each part is before
};

}  // namespace penstock::plan
