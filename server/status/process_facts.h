// What the kernel counts of this process.
#pragma once

#include "server/status/snapshot.h"

namespace penstock::status {

// Some 50 µs, and more with many open descriptors. What cannot be read is 0.
ProcessFacts ReadProcessFacts();

}  // namespace penstock::status
