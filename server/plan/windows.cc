#include "server/plan/windows.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/divide.h"
#include "server/plan/hash.h"

namespace penstock::plan {
namespace {

const Windows& Checked(const Windows& windows) {
  PENSTOCK_CHECK(Validate(windows).ok());
  return windows;
}

}  // namespace

absl::Status Validate(const Windows& windows) {
  if (windows.shard_samples < 1 || windows.shard_samples > kMaxSamples)
    return absl::InvalidArgumentError(absl::StrCat("a shard has ", windows.shard_samples,
                                                   " samples; it must have 1 to ", kMaxSamples));
  if (windows.shards < 1)
    return absl::InvalidArgumentError("a window has 0 shards; it must have at least 1");
  return absl::OkStatus();
}

// Larger shards or windows than the dataset means all of it.
WindowedOrder::WindowedOrder(const Windows& windows, uint64_t samples, uint64_t seed,
                             uint64_t epoch)
    : samples_(samples),
      shard_samples_(std::min(Checked(windows).shard_samples, samples)),
      shards_(std::min<uint64_t>(windows.shards, base::DivideUp(samples, shard_samples_))),
      permuted_(base::DivideUp(samples, shard_samples_), Key(seed, epoch, Purpose::kShards)),
      missing_(base::DivideUp(samples, shard_samples_) * shard_samples_ - samples),
      short_place_(permuted_.PlaceOf(base::DivideUp(samples, shard_samples_) - 1)),
      window_key_(Key(seed, epoch, Purpose::kWindow)) {}

// After the short shard, everything comes `missing_` samples earlier.
uint64_t WindowedOrder::StartOf(uint64_t window) const {
  const uint64_t place = window * shards_;
  return place * shard_samples_ - (short_place_ < place ? missing_ : 0);
}

uint64_t WindowedOrder::WindowOf(uint64_t index) const {
  const uint64_t whole = shards_ * shard_samples_;
  const uint64_t behind_short = StartOf(short_place_ / shards_ + 1);
  return (index < behind_short ? index : index + missing_) / whole;
}

uint64_t WindowedOrder::operator()(uint64_t index) const {
  PENSTOCK_CHECK(index < samples_);
  const uint64_t window = WindowOf(index);
  const uint64_t start = StartOf(window);
  const uint64_t size = std::min(StartOf(window + 1), samples_) - start;
  uint64_t in_window = Permutation(size, Mix(window_key_ ^ window))(index - start);
  // If the short shard is in this window, skip the samples that it lacks.
  const uint64_t place = window * shards_;
  if (short_place_ >= place &&
      in_window >= (short_place_ - place + 1) * shard_samples_ - missing_) {
    in_window += missing_;
  }
  const uint64_t shard = permuted_(place + in_window / shard_samples_);
  return shard * shard_samples_ + in_window % shard_samples_;
}

uint64_t WindowedOrder::PlaceOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < samples_);
  const uint64_t shard_place = permuted_.PlaceOf(sample / shard_samples_);
  const uint64_t window = shard_place / shards_;
  const uint64_t place = window * shards_;
  const uint64_t start = StartOf(window);
  const uint64_t size = std::min(StartOf(window + 1), samples_) - start;
  uint64_t in_window = (shard_place - place) * shard_samples_ + sample % shard_samples_;
  if (short_place_ >= place && shard_place > short_place_) in_window -= missing_;
  return start + Permutation(size, Mix(window_key_ ^ window)).PlaceOf(in_window);
}

uint64_t SampleAt(Order order, const Windows& windows, uint64_t samples, uint64_t seed,
                  uint64_t epoch, uint64_t index) {
  if (order != Order::kShuffledInWindows) return SampleAt(order, samples, seed, epoch, index);
  return WindowedOrder(windows, samples, seed, epoch)(index);
}

}  // namespace penstock::plan
