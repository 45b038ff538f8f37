// Which sample a position in a feed's epoch holds, and the key of its random choices. The only
// place where a given order, a mixture or a range replaces the plan for a single dataset. Specified
// in server/plan/README.md. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/decode/core/spec.h"
#include "server/feed/identity/fingerprint.h"

namespace penstock::feed {

// A position in an epoch. At or beyond spec.epoch_samples() it is padding, which repeats the epoch
// from its first sample.
struct Place {
  uint64_t epoch = 0;
  uint64_t place = 0;
};

uint64_t PlannedAt(const FeedSpec& spec, const Place& at);

// The same for consecutive positions, as many as `into` has.
void PlannedFrom(const FeedSpec& spec, const Place& first, std::span<uint64_t> into);

// The substitute for `planned` if `attempt` (≥ 1) samples could not be used: one of the epoch's
// samples, so that samples outside of the order or range never occur; in a mixture, one of the same
// part.
uint64_t StandInFor(const FeedSpec& spec, uint64_t epoch, uint64_t planned, uint32_t attempt);
// How many samples it is drawn from.
uint64_t StandInsOf(const FeedSpec& spec, uint64_t planned);

// `sample`: the sample decoded there. All positions of an epoch have different keys. The exception:
// if each rank gave an order of its own and the feeds don't say so (FeedSpec::given_by), positions
// of different ranks can have equal keys.
decode::DrawKey ToDrawKey(const FeedSpec& spec, const Place& at, uint64_t sample);

// Describes the order, and the range if there is one.
std::string OrderWords(const FeedSpec& spec);

}  // namespace penstock::feed
