// Which sample a place in a feed's epoch holds, and what its random choices are keyed by: the one
// place where an order that a client gave, or a mixture's, takes over from the plan's for one
// dataset, and where a range of it is. Specified in
// server/plan/README.md. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/decode/core/spec.h"
#include "server/feed/engine/fingerprint.h"

namespace penstock::feed {

// One place of one epoch. At or beyond spec.epoch_samples() it is padding: behind the epoch's last
// sample comes its first again.
struct Place {
  uint64_t epoch = 0;
  uint64_t place = 0;
};

uint64_t PlannedAt(const FeedSpec& spec, const Place& at);

// The same for as many places in a row as `into` has.
void PlannedFrom(const FeedSpec& spec, const Place& first, std::span<uint64_t> into);

// What stands in for `planned` when its attempts before `attempt` (≥ 1) could not be used: one of
// the epoch's samples, so that an order or a range that leaves samples out never brings one of
// them; in a mixture, of the same part.
uint64_t StandInFor(const FeedSpec& spec, uint64_t epoch, uint64_t planned, uint32_t attempt);

// `sample`: what is decoded there. No two places of an epoch draw by the same key, but for one
// rank's and another's where each gave an order and the feeds do not say so (FeedSpec::given_by).
decode::DrawKey DrawKeyOf(const FeedSpec& spec, const Place& at, uint64_t sample);

// The order, and the range where it is one, for people.
std::string OrderWords(const FeedSpec& spec);

}  // namespace penstock::feed
