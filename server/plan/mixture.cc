#include "server/plan/mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "common/base/check.h"
#include "server/plan/hash.h"

namespace penstock::plan {
namespace {

using Wide = unsigned __int128;

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

absl::Status CheckWeights(const MixtureSpec::Weights& stage, size_t parts) {
  if (stage.weights.size() != parts)
    return Wrong("from epoch ", stage.from_epoch, " the mixture has ", stage.weights.size(),
                 " weights, but ", parts, " parts; give one weight for each part");
  for (const double weight : stage.weights)
    if (!std::isfinite(weight) || weight < 0)
      return Wrong("from epoch ", stage.from_epoch, " a weight of the mixture is ", weight,
                   "; it must be a number of at least 0");
  if (*std::max_element(stage.weights.begin(), stage.weights.end()) > 0) return absl::OkStatus();
  return Wrong("from epoch ", stage.from_epoch,
               " all weights of the mixture are 0; at least one must be greater");
}

absl::Status CheckSamples(const MixtureSpec& spec) {
  if (spec.samples.empty() || spec.samples.size() > kMaxParts)
    return Wrong("the mixture has ", spec.samples.size(), " parts; it must have 1 to ", kMaxParts);
  uint64_t left = kMaxSamples;
  for (const uint64_t samples : spec.samples) {
    if (samples < 1 || samples > left)
      return Wrong("a part of the mixture has ", samples, " samples; each part needs at least 1, ",
                   "and all together may have ", kMaxSamples);
    left -= samples;
  }
  if (spec.epoch_samples >= 1 && spec.epoch_samples <= kMaxSamples) return absl::OkStatus();
  return Wrong("an epoch of the mixture has ", spec.epoch_samples, " samples; it must have 1 to ",
               kMaxSamples);
}

absl::Status Check(const MixtureSpec& spec) {
  PENSTOCK_RETURN_IF_ERROR(CheckSamples(spec));
  if (spec.schedule.empty() || spec.schedule.front().from_epoch != 0)
    return Wrong("the mixture's first weights must start at epoch 0");
  for (size_t i = 0; i < spec.schedule.size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(CheckWeights(spec.schedule[i], spec.samples.size()));
    if (i > 0 && spec.schedule[i].from_epoch <= spec.schedule[i - 1].from_epoch)
      return Wrong("weights from epoch ", spec.schedule[i].from_epoch,
                   " come after those from epoch ", spec.schedule[i - 1].from_epoch,
                   "; give them in ascending order of epochs");
  }
  return absl::OkStatus();
}

// The weights as multiples of 2⁻³² of the largest one.
std::vector<uint64_t> InUnits(const std::vector<double>& weights) {
  const double most = *std::max_element(weights.begin(), weights.end());
  std::vector<uint64_t> units;
  units.reserve(weights.size());
  for (const double weight : weights)
    units.push_back(static_cast<uint64_t>(std::floor(weight / most * 4294967296.0 + 0.5)));
  return units;
}

// Distributes `samples` by largest remainders; of equal ones, the earlier part's wins.
std::vector<uint64_t> Apportion(const std::vector<uint64_t>& units, uint64_t samples) {
  const uint64_t whole = std::accumulate(units.begin(), units.end(), uint64_t{0});
  std::vector<uint64_t> counts, remainders;
  uint64_t left = samples;
  for (const uint64_t unit : units) {
    const Wide share = Wide{samples} * unit;
    counts.push_back(static_cast<uint64_t>(share / whole));
    remainders.push_back(static_cast<uint64_t>(share % whole));
    left -= counts.back();
  }
  std::vector<uint32_t> parts(units.size());
  std::iota(parts.begin(), parts.end(), 0u);
  std::stable_sort(parts.begin(), parts.end(),
                   [&](uint32_t a, uint32_t b) { return remainders[a] > remainders[b]; });
  for (uint64_t i = 0; i < left; ++i) ++counts[parts[i]];
  return counts;
}

// A stretch of the ring: how many samples of each part it has, and how many came before it.
class Stretch {
 public:
  Stretch(const std::vector<uint64_t>& counts, uint64_t key) : key_(key) {
    for (uint32_t part = 0; part < counts.size(); ++part) {
      if (counts[part] == 0) continue;
      parts_[size_++] = {part, counts[part], 0};
      length_ += counts[part];
    }
  }

  // Descends to the position and returns its part. Call once.
  uint32_t Find(uint64_t place) {
    while (size_ > 1) place = Halve(place);
    before_[parts_[0].number] += place;
    return parts_[0].number;
  }

  // After Find: how many samples of a part came before that position.
  uint64_t before(uint32_t part) const { return before_[part]; }

 private:
  struct Part {
    uint32_t number;
    uint64_t count;
    uint64_t left;  // how many of them are in the left half
  };

  // Halves each part's samples. Of the parts with an odd number, every second one gets the larger
  // half on the left, starting with one that the key draws.
  void Divide() {
    uint64_t odd = 0;
    for (uint32_t i = 0; i < size_; ++i) {
      parts_[i].left = parts_[i].count / 2;
      if (parts_[i].count % 2 == 1) odd_[odd++] = i;
    }
    uint64_t turn = Scale(Mix(key_ ^ node_), odd);
    for (uint64_t i = 0; i < odd / 2; ++i) {
      ++parts_[odd_[turn]].left;
      if (++turn == odd) turn = 0;
    }
  }

  // Descends to the half that contains the position; returns the position within it.
  uint64_t Halve(uint64_t place) {
    Divide();
    const uint64_t half = length_ / 2;
    const bool right = place >= half;
    length_ = right ? length_ - half : half;
    node_ = 2 * node_ + (right ? 1 : 0);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < size_; ++i) {
      Part part = parts_[i];
      if (right) before_[part.number] += part.left;
      part.count = right ? part.count - part.left : part.left;
      if (part.count > 0) parts_[kept++] = part;
    }
    size_ = kept;
    return right ? place - half : place;
  }

  const uint64_t key_;
  uint64_t node_ = 1;
  uint64_t length_ = 0;
  uint32_t size_ = 0;
  std::array<Part, kMaxParts> parts_ = {};
  std::array<uint32_t, kMaxParts> odd_;
  std::array<uint64_t, kMaxParts> before_ = {};
};

}  // namespace

absl::StatusOr<Mixture> Mixture::Make(const MixtureSpec& spec) {
  PENSTOCK_RETURN_IF_ERROR(Check(spec));
  Mixture mixture;
  mixture.samples_ = spec.samples;
  uint64_t first = 0;
  for (const uint64_t samples : spec.samples) {
    mixture.firsts_.push_back(first);
    first += samples;
  }
  mixture.epoch_samples_ = spec.epoch_samples;
  for (const MixtureSpec::Weights& stage : spec.schedule)
    mixture.stages_.push_back(
        {stage.from_epoch, Apportion(InUnits(stage.weights), spec.epoch_samples)});
  return mixture;
}

uint32_t Mixture::PartOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < samples());
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), sample);
  return static_cast<uint32_t>(behind - firsts_.begin() - 1);
}

const Mixture::Stage& Mixture::StageOf(uint64_t epoch) const {
  const auto behind = std::upper_bound(
      stages_.begin(), stages_.end(), epoch,
      [](uint64_t wanted, const Stage& stage) { return wanted < stage.from_epoch; });
  return *std::prev(behind);
}

Wide Mixture::DrawnBefore(uint32_t part, uint64_t epoch) const {
  Wide drawn = 0;
  for (size_t i = 0; i < stages_.size() && stages_[i].from_epoch < epoch; ++i) {
    const bool is_last = i + 1 == stages_.size();
    const uint64_t end = is_last ? epoch : std::min(epoch, stages_[i + 1].from_epoch);
    drawn += Wide{end - stages_[i].from_epoch} * stages_[i].counts[part];
  }
  return drawn;
}

Mixture::Pick Mixture::At(uint64_t seed, uint64_t epoch, uint64_t place) const {
  return MixedEpoch(*this, seed, epoch).At(place);
}

uint64_t Mixture::SampleAt(Order order, const Windows& windows, uint64_t seed, uint64_t epoch,
                           uint64_t place) const {
  return MixedEpoch(*this, seed, epoch).SampleAt(order, windows, place);
}

uint64_t Mixture::hash() const {
  uint64_t hash = 0;
  const auto add = [&](uint64_t word) { hash = Mix((hash ^ word) + kGolden); };
  add(samples_.size());
  for (const uint64_t samples : samples_) add(samples);
  add(epoch_samples_);
  for (const Stage& stage : stages_) {
    add(stage.from_epoch);
    for (const uint64_t count : stage.counts) add(count);
  }
  return hash;
}

// The tree has regularities of its own, so the epoch begins at a random position on the ring: then
// no position is special.
MixedEpoch::MixedEpoch(const Mixture& mixture, uint64_t seed, uint64_t epoch)
    : mixture_(mixture),
      counts_(mixture.CountsOf(epoch)),
      seed_(seed),
      epoch_(epoch),
      key_(Key(seed, epoch, Purpose::kMixture)),
      begin_(Scale(Mix(key_), mixture.epoch_samples())) {
  Stretch whole(counts_, key_);
  whole.Find(begin_);
  for (uint32_t part = 0; part < counts_.size(); ++part) before_begin_[part] = whole.before(part);
}

Mixture::Pick MixedEpoch::At(uint64_t place) const {
  PENSTOCK_CHECK(place < mixture_.epoch_samples());
  const uint64_t to_end = mixture_.epoch_samples() - begin_;
  const bool wraps = place >= to_end;
  Stretch whole(counts_, key_);
  const uint32_t part = whole.Find(wraps ? place - to_end : place + begin_);
  const uint64_t before = whole.before(part) + (wraps ? counts_[part] : 0) - before_begin_[part];
  const Wide drawn = mixture_.DrawnBefore(part, epoch_) + before;
  const uint64_t samples = mixture_.samples_[part];
  return {.part = part,
          .pass = static_cast<uint64_t>(drawn / samples),
          .index = static_cast<uint64_t>(drawn % samples)};
}

// A part is ordered like a dataset of its own, with its own seed.
uint64_t MixedEpoch::SampleAt(Order order, const Windows& windows, uint64_t place) const {
  const Mixture::Pick draw = At(place);
  const uint64_t part_seed = Mix(seed_ ^ Mix(draw.part + kGolden));
  return mixture_.firsts_[draw.part] + plan::SampleAt(order, windows, mixture_.samples_[draw.part],
                                                      part_seed, draw.pass, draw.index);
}

}  // namespace penstock::plan
