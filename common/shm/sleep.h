// Flags by which one side of a ring tells the other that it sleeps, so that a push costs a system
// call only if somebody waits for it.
//
// No wake-up is lost: before a side sleeps, it sets its flag (FallAsleep) and then checks its ring
// once more. After a push, the other side clears the flag (EndSleep) and sends a notification if it
// was set.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::shm {

// Announces a sleep. The caller must check its ring once more before it sleeps.
inline void FallAsleep(std::atomic<uint32_t>& asleep) {
  asleep.exchange(1, std::memory_order_acq_rel);
}

// Call it after a push. Returns whether the other side had announced a sleep, and clears its flag.
inline bool EndSleep(std::atomic<uint32_t>& asleep) {
  return asleep.exchange(0, std::memory_order_acq_rel) != 0;
}

}  // namespace penstock::shm
