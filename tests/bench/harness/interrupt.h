// Remembers Ctrl-C and similar signals, so that a suite can end its children and remove its files
// first.
#pragma once

#include "common/base/status.h"

namespace penstock::bench {

// From now on, SIGINT, SIGTERM and SIGHUP are remembered, and they interrupt calls that wait. Call
// it once, in main.
void RememberSignals();

// Returns Cancelled once such a signal has come. Any thread.
absl::Status CheckInterrupted();

// Ends this process by the remembered signal, as if it had not been caught. Returns if there was
// none.
void DieOfRememberedSignal();

}  // namespace penstock::bench
