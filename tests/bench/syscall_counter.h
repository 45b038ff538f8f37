// Counts the system calls of a thread, without privileges and without another process: seccomp(2)
// turns each into a SIGSYS, whose handler counts.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::bench {

// From here on, and for good, no system call of the calling thread takes place: each is counted and
// answered with EAGAIN, but for those that end the process. For a child process that only counts.
// Unimplemented on machines other than x86-64 and arm64; the kernel's refusal otherwise.
absl::Status CountSystemCalls();

// So many since then.
uint64_t CountedSystemCalls();

}  // namespace penstock::bench
