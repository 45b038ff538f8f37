#include "server/feed/samples.h"

namespace penstock::feed {

uint64_t PlannedAt(const FeedSpec& spec, const Place& at) {
  if (spec.given != nullptr) return (*spec.given)[at.place];
  return plan::SampleAt(spec.order, spec.samples, spec.seed, at.epoch, at.place);
}

void PlannedFrom(const FeedSpec& spec, const Place& first, std::span<uint64_t> into) {
  const uint64_t samples = spec.epoch_samples();
  uint64_t place = first.place;
  const auto fill = [&](const auto& planned_at) {
    for (uint64_t& sample : into) {
      sample = planned_at(place);
      if (++place == samples) place = 0;
    }
  };
  if (spec.given != nullptr) return fill([&](uint64_t at) { return (*spec.given)[at]; });
  if (spec.order == plan::Order::kSequential) return fill([](uint64_t at) { return at; });
  fill(plan::Permutation(samples, spec.seed, first.epoch));
}

uint64_t StandInFor(const FeedSpec& spec, uint64_t epoch, uint64_t planned, uint32_t attempt) {
  const uint64_t drawn =
      plan::SubstituteFor(spec.epoch_samples(), spec.seed, epoch, planned, attempt);
  return spec.given == nullptr ? drawn : (*spec.given)[drawn];
}

decode::DrawKey DrawKeyOf(const FeedSpec& spec, const Place& at, uint64_t sample) {
  const uint64_t drawn = spec.given == nullptr ? sample : plan::DrawNumber(at.place, sample);
  return {.seed = spec.seed, .epoch = at.epoch, .sample = drawn};
}

}  // namespace penstock::feed
