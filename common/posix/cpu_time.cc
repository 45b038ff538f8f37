#include "common/posix/cpu_time.h"

#include <ctime>

namespace penstock::posix {

std::optional<base::Duration> CpuTimeOf(pid_t process) {
  clockid_t clock;
  timespec used;
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace penstock::posix
