// The raw, process-shared futex, with which a consumer waits for a batch. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::posix {

// Sleeps while word == expected, until woken or until the timeout expires. May wake spuriously.
void FutexWait(std::atomic<uint32_t>& word, uint32_t expected, base::Duration timeout);

// Wakes every waiter.
void FutexWake(std::atomic<uint32_t>& word);

}  // namespace penstock::posix
