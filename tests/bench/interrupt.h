// Ctrl-C and its like: remembered, so that what runs can end its children and remove its files
// first.
#pragma once

#include "common/base/status.h"

namespace penstock::bench {

// From here on SIGINT, SIGTERM and SIGHUP are remembered, and calls that wait are interrupted.
// Once, in main.
void RememberSignals();

// Cancelled once one of them came. Any thread.
absl::Status CheckInterrupted();

// Ends this process by the signal that came, as if it had not been caught; returns if none did.
void DieOfRememberedSignal();

}  // namespace penstock::bench
