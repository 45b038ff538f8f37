#include "server/feed/identity/samples.h"

#include "absl/strings/str_cat.h"

namespace penstock::feed {
namespace {

// Whether a sample may also occur at other positions of the epoch: it does as padding or as a
// substitute.
bool MayRepeat(const FeedSpec& spec, const Place& at, uint64_t sample) {
  return spec.given != nullptr || spec.mixture != nullptr || at.place >= spec.epoch_samples() ||
         sample != PlannedAt(spec, at);
}

// Calls `fill` with the source of samples for a position of the epoch.
template <typename Fill>
void WithOrder(const FeedSpec& spec, uint64_t epoch, const Fill& fill) {
  if (spec.given != nullptr) return fill([&](uint64_t place) { return (*spec.given)[place]; });
  if (spec.mixture != nullptr) {
    const plan::MixedEpoch mixed(*spec.mixture, spec.seed, epoch);
    return fill([&](uint64_t place) { return mixed.SampleAt(spec.order, spec.windows, place); });
  }
  const plan::Range range = spec.Within();
  const auto from_first = [&fill, range](const auto& order) {
    fill([&order, range](uint64_t place) { return range.first + order(place); });
  };
  switch (spec.order) {
    case plan::Order::kSequential:
      return from_first([](uint64_t place) { return place; });
    case plan::Order::kShuffled:
      return from_first(plan::Permutation(range.count, spec.seed, epoch));
    case plan::Order::kShuffledInWindows:
      return from_first(plan::WindowedOrder(spec.windows, range.count, spec.seed, epoch));
  }
}

}  // namespace

uint64_t PlannedAt(const FeedSpec& spec, const Place& at) {
  uint64_t sample = 0;
  const uint64_t place = at.place % spec.epoch_samples();
  WithOrder(spec, at.epoch, [&](const auto& order) { sample = order(place); });
  return sample;
}

void PlannedFrom(const FeedSpec& spec, const Place& first, std::span<uint64_t> into) {
  const uint64_t samples = spec.epoch_samples();
  WithOrder(spec, first.epoch, [&](const auto& order) {
    uint64_t place = first.place % samples;
    for (uint64_t& sample : into) {
      sample = order(place);
      if (++place == samples) place = 0;
    }
  });
}

namespace {
plan::Range StandInRange(const FeedSpec& spec, uint64_t planned) {
  return spec.mixture == nullptr ? spec.Within()
                                 : spec.mixture->PartRange(spec.mixture->PartOf(planned));
}
}  // namespace

uint64_t StandInFor(const FeedSpec& spec, uint64_t epoch, uint64_t planned, uint32_t attempt) {
  const uint64_t drawn =
      plan::SubstituteFor(StandInsOf(spec, planned), spec.seed, epoch, planned, attempt);
  return spec.given != nullptr ? (*spec.given)[drawn] : StandInRange(spec, planned).first + drawn;
}

uint64_t StandInsOf(const FeedSpec& spec, uint64_t planned) {
  return spec.given != nullptr ? spec.given->size() : StandInRange(spec, planned).count;
}

std::string OrderWords(const FeedSpec& spec) {
  if (spec.given != nullptr) return absl::StrCat("given, ", spec.given->size(), " samples");
  std::string words = spec.mixture != nullptr ? "mixture, " : "";
  switch (spec.order) {
    case plan::Order::kSequential:
      words += "sequential";
      break;
    case plan::Order::kShuffled:
      words += "shuffled";
      break;
    case plan::Order::kShuffledInWindows:
      absl::StrAppend(&words, "shuffled in windows of ", spec.windows.shards, " shards of ",
                      spec.windows.shard_samples, " samples");
      break;
  }
  const plan::Range range = spec.Within();
  if (range.count != spec.samples)
    absl::StrAppend(&words, ", samples ", range.first, " to ", range.first + (range.count - 1));
  return words;
}

decode::DrawKey ToDrawKey(const FeedSpec& spec, const Place& at, uint64_t sample) {
  const bool repeats = MayRepeat(spec, at, sample);
  const uint64_t drawn = repeats ? plan::DrawNumber(spec.given_by.Among(at.place), sample) : sample;
  return {.seed = spec.seed, .epoch = at.epoch, .sample = drawn};
}

}  // namespace penstock::feed
