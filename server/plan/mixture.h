// A weighted mixture of datasets as one feed: for each position of an epoch, the part it comes from
// and the sample within that part. README.md specifies it.
//
// A lookup descends a binary tree over the epoch, which halves each part's samples at each node, so
// that parts are spread evenly: O(parts · log samples) time, O(parts) memory, random access to any
// position.
//
// **Thread safety**: immutable; any thread.
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
  // Number of samples of each part. The mixture numbers samples part after part.
  std::vector<uint64_t> samples = {};
  uint64_t epoch_samples = 0;
  struct Weights {
    uint64_t from_epoch = 0;
    std::vector<double> weights;  // one for each part; only their ratios matter
    bool operator==(const Weights&) const = default;
  };
  std::vector<Weights> schedule;  // the first from epoch 0; each applies until the next
};

class Mixture {
 public:
  // **Errors**: InvalidArgument says what is invalid.
  static absl::StatusOr<Mixture> Make(const MixtureSpec& spec);

  uint64_t samples() const { return firsts_.back() + samples_.back(); }  // all parts together
  uint64_t epoch_samples() const { return epoch_samples_; }
  uint32_t parts() const { return static_cast<uint32_t>(samples_.size()); }
  // The part's samples in the mixture's numbering.
  Range PartRange(uint32_t part) const { return {firsts_[part], samples_[part]}; }
  uint32_t PartOf(uint64_t sample) const;  // sample < samples()
  // How many samples an epoch has of each part; differs from the exact weights by less than one
  // sample.
  const std::vector<uint64_t>& CountsOf(uint64_t epoch) const { return StageOf(epoch).counts; }

  // Each part is read in passes; each pass is a permutation of its samples, so no sample repeats
  // before all others of its part have come.
  struct Pick {
    uint32_t part = 0;
    uint64_t pass = 0;
    uint64_t index = 0;  // within the pass
  };
  Pick At(uint64_t seed, uint64_t epoch, uint64_t place) const;  // place < epoch_samples()
  // The sample at that position, in the mixture's numbering.
  uint64_t SampleAt(Order order, const Windows& windows, uint64_t seed, uint64_t epoch,
                    uint64_t place) const;

  // A hash of everything that determines the order; the same on every machine.
  uint64_t hash() const;

 private:
  friend class MixedEpoch;
  // A run of epochs with the same weights.
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

// One epoch of a mixture: the same answers at half the cost for many positions. **Requires**: the
// mixture outlives it.
class MixedEpoch {
 public:
  MixedEpoch(const Mixture& mixture, uint64_t seed, uint64_t epoch);
  Mixture::Pick At(uint64_t place) const;
  uint64_t SampleAt(Order order, const Windows& windows, uint64_t place) const;

 private:
  const Mixture& mixture_;
  const std::vector<uint64_t>& counts_;
  uint64_t seed_, epoch_, key_;
  uint64_t begin_;                                  // where the epoch begins on the ring, …
  std::array<uint64_t, kMaxParts> before_begin_{};  // … and each part's samples before that
};

}  // namespace penstock::plan
