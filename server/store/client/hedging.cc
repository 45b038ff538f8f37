#include "server/store/client/hedging.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/check.h"

namespace penstock::store {
namespace {

constexpr double kFirstStepNs = 250'000;
constexpr double kStepsPerDoubling = 4;
constexpr uint32_t kMostCounted = 2048;  // then the older ones count half

}  // namespace

void Durations::Add(base::Duration duration) {
  const double ratio = std::max(1.0, static_cast<double>(duration.count()) / kFirstStepNs);
  const auto step = static_cast<size_t>(std::log2(ratio) * kStepsPerDoubling);
  ++steps_[std::min(step, kSteps - 1)];
  if (++count_ < kMostCounted) return;
  count_ = 0;
  for (uint32_t& each : steps_) count_ += each /= 2;
}

base::Duration Durations::Quantile(double share) const {
  PENSTOCK_CHECK(count_ > 0);
  const double wanted = share * count_;
  uint32_t below = 0;
  size_t step = 0;
  while (step + 1 < kSteps && (below += steps_[step]) < wanted) ++step;
  const double end = kFirstStepNs * std::exp2(static_cast<double>(step + 1) / kStepsPerDoubling);
  return base::Duration(static_cast<int64_t>(end));
}

size_t Hedging::ClassOf(uint64_t bytes) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(bytes)) / 2, kClasses - 1);
}

std::optional<base::Duration> Hedging::Begin(uint64_t bytes) {
  tokens_ = std::min(kMostTokens, tokens_ + options_.most_share);
  const Durations& known = classes_[ClassOf(bytes)];
  if (known.count() < options_.least_known) return std::nullopt;
  // Where durations hardly differ, the 95th percentile itself is nothing unusual.
  const base::Duration usual = known.Quantile(0.5), slow = known.Quantile(0.95);
  return std::max(options_.least, slow + (slow - usual));
}

void Hedging::End(uint64_t bytes, base::Duration took) { classes_[ClassOf(bytes)].Add(took); }

bool Hedging::Spend() {
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace penstock::store
