// Processor time of other processes.
#pragma once

#include <sys/types.h>

#include <optional>

#include "common/base/clock.h"

namespace penstock::posix {

// That a process has used so far, all its threads together. Nothing: it is gone. Never waits.
std::optional<base::Duration> CpuTimeOf(pid_t process);

}  // namespace penstock::posix
