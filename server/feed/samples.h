// Which sample a place in a feed's epoch holds, and what its random choices are keyed by: the one
// place where an order that a client gave, or a mixture's, takes over from the plan's for one
// dataset, and where a range of it is. Specified in
// server/plan/README.md. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/decode/spec.h"
#include "server/feed/fingerprint.h"

namespace penstock::feed {

// One place of one epoch; place < spec.epoch_samples().
struct Place {
  uint64_t epoch = 0;
  uint64_t place = 0;
};

uint64_t PlannedAt(const FeedSpec& spec, const Place& at);

// The same for as many places in a row as `into` has; behind the epoch's last comes its first.
void PlannedFrom(const FeedSpec& spec, const Place& first, std::span<uint64_t> into);

// What stands in for `planned` when its attempts before `attempt` (≥ 1) could not be used: one of
// the epoch's samples, so that an order or a range that leaves samples out never brings one of
// them; in a mixture, of the same part.
uint64_t StandInFor(const FeedSpec& spec, uint64_t epoch, uint64_t planned, uint32_t attempt);

// `sample`: what is decoded there.
decode::DrawKey DrawKeyOf(const FeedSpec& spec, const Place& at, uint64_t sample);

// The order, and the range where it is one, for people.
std::string OrderWords(const FeedSpec& spec);

}  // namespace penstock::feed
