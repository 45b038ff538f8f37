// Counts a thread's system calls. Needs no privileges and no second process: seccomp(2) turns each
// call into a SIGSYS, whose handler counts.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::bench {

// From now on the calling thread makes no more system calls, ever: each one is counted and answered
// with EAGAIN, except those that end the process. For a child process that only counts.
//
// **Errors**: Unimplemented on machines other than x86-64 and arm64; otherwise the kernel's
// refusal.
absl::Status CountSystemCalls();

// The number of calls since then.
uint64_t CountedSystemCalls();

}  // namespace penstock::bench
