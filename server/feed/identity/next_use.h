// When a feed needs a sample again: the plan is a pure function, and its orders can be inverted.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "server/feed/core/ranks_here.h"
#include "server/feed/identity/fingerprint.h"
#include "server/feed/identity/samples.h"

namespace penstock::feed {

// Further ahead, nobody looks.
inline constexpr uint64_t kEpochsAhead = 16;

// Whether the order of the feed tells where a sample is: not in a mixture, nor if the client gave
// the order.
bool TellsPlaces(const FeedSpec& spec);

// The first place after `after`, in the next kEpochsAhead epochs, at which one of the ranks needs
// the sample. Padding and substitutes do not count. **Requires**: TellsPlaces(spec).
std::optional<Place> FindNextPlace(const FeedSpec& spec, uint64_t sample, const Place& after,
                                   const RanksHere& ranks);

}  // namespace penstock::feed
