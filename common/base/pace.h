// From when on somebody counts as held up, and as holding others up: the same for the daemon's
// verdicts and the client's, so that they do not contradict each other.
#pragma once

namespace penstock::base {

// A trainer that waits for a smaller share of its time is not held up.
inline constexpr double kHeldUp = 0.02;
// Who is busy for a larger share of the time holds others up. It is well below 1, because between
// two samples there is always some waiting, on a machine whose cores are shared more than
// elsewhere.
inline constexpr double kBusy = 0.6;

}  // namespace penstock::base
