#include "server/feed/identity/next_use.h"

#include "common/base/check.h"

namespace penstock::feed {
namespace {

// Where the epoch has the sample, which lies in the range.
uint64_t IndexOf(const FeedSpec& spec, const plan::Range& range, uint64_t sample, uint64_t epoch) {
  const uint64_t in_range = sample - range.first;
  switch (spec.order) {
    case plan::Order::kSequential:
      return in_range;
    case plan::Order::kShuffled:
      return plan::Permutation(range.count, spec.seed, epoch).PlaceOf(in_range);
    case plan::Order::kShuffledInWindows:
      break;
  }
  return plan::WindowedOrder(spec.windows, range.count, spec.seed, epoch).PlaceOf(in_range);
}

}  // namespace

bool TellsPlaces(const FeedSpec& spec) { return spec.given == nullptr && spec.mixture == nullptr; }

std::optional<Place> FindNextPlace(const FeedSpec& spec, uint64_t sample, const Place& after,
                                   const RanksHere& ranks) {
  PENSTOCK_CHECK(TellsPlaces(spec));
  const plan::Range range = spec.Within();
  if (!range.Contains(sample)) return std::nullopt;
  for (uint64_t epoch = after.epoch; epoch <= after.epoch + kEpochsAhead; ++epoch) {
    const uint64_t index = IndexOf(spec, range, sample, epoch);
    if (epoch == after.epoch && index <= after.place) continue;
    if (ranks.Have(index)) return Place{.epoch = epoch, .place = index};
  }
  return std::nullopt;
}

}  // namespace penstock::feed
