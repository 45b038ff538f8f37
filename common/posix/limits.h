// How much of the machine a process or thread gets. Any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::posix {

// Nice values. Beside a normal thread on one core, kLow gets a tenth of it, which is enough for
// what somebody waits for; kLowest a seventieth.
enum class Priority : int { kLow = 10, kLowest = 19 };

// Gives the calling thread, and threads that it starts later, a low priority. Cannot be undone
// without privileges.
absl::Status GiveWay(Priority priority = Priority::kLowest);

// Makes all threads allocate from one heap. For programs that rarely allocate on hot paths: by
// default glibc creates up to eight heaps per core for threads that allocate concurrently, and each
// heap keeps what was freed in it. **Requires**: called before threads start.
void KeepOneHeap();

// Raises the limit of open files to the hard limit; the usual soft limit of 1024 exists for
// select(2), which we never call. Returns the limit in effect afterwards, which is the old one if
// it cannot be changed.
uint64_t AllowAllOpenFiles();
// The current limit of open files.
uint64_t MaxOpenFiles();

}  // namespace penstock::posix
