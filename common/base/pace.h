// Thresholds for who is delayed and who delays others. Daemon and client share them, so that their
// verdicts agree.
#pragma once

namespace penstock::base {

// A trainer that waits for a smaller fraction of its time is not delayed.
inline constexpr double kHeldUp = 0.02;
// Anyone who is busy for a larger fraction of the time delays others. It is well below 1, because
// there is always some waiting between two samples, more on a machine whose cores are shared.
inline constexpr double kBusy = 0.6;

}  // namespace penstock::base
