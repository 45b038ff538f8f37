// CPU time of other processes.
#pragma once

#include <sys/types.h>

#include <optional>

#include "common/base/clock.h"

namespace penstock::posix {

// The CPU time of all threads of a process so far; nullopt if the process is gone. Never waits.
std::optional<base::Duration> CpuTimeOf(pid_t process);

}  // namespace penstock::posix
