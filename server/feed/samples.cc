#include "server/feed/samples.h"

namespace penstock::feed {

uint64_t PlannedAt(const FeedSpec& spec, const Place& at) {
  if (spec.given != nullptr) return (*spec.given)[at.place];
  return plan::SampleAt(spec.order, spec.samples, spec.seed, at.epoch, at.place);
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
