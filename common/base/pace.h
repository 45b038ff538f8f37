// Thresholds for who is delayed and who delays others. Daemon and client share them, so that their
// verdicts agree.
#pragma once

namespace penstock::base {

// A trainer that waits for a smaller fraction of its time is not delayed.
inline constexpr double kHeldUp = 0.02;
// Who is busy for a larger share of the time holds others up. It is well below 1, because between
// two samples there is always some waiting, on a machine whose cores are shared more than
// elsewhere.
inline constexpr double kBusy = 0.6;

}  // namespace penstock::base
