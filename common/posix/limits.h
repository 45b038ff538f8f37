// How much of the machine a process or a thread gets. Any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::posix {

// The calling thread, and those that are started from it, give way to all others: the highest
// nice(2), with which it has a sixty-eighth of another's share where both want a core. There is no
// way back without privileges.
absl::Status GiveWay();

// Lets all threads allocate from one heap, for programs that hardly allocate where it matters:
// glibc makes up to eight a core, one for each thread that asks while others do, and each keeps
// what was freed in it. Before threads are started.
void KeepOneHeap();

// As many open files as whoever started us allows (the hard limit): the usual one is 1024, for the
// sake of select(2), which nobody here calls. How many that are; where it cannot be changed, as it
// was.
uint64_t AllowAllOpenFiles();
// As it is now.
uint64_t MaxOpenFiles();

}  // namespace penstock::posix
