#include "common/posix/limits.h"

#include <malloc.h>
#include <sys/resource.h>

#include <cerrno>

namespace penstock::posix {

// On Linux, PRIO_PROCESS with 0 means the calling thread, contrary to POSIX; see setpriority(2).
absl::Status GiveWay(Priority priority) {
  if (::setpriority(PRIO_PROCESS, 0, static_cast<int>(priority)) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "lowering a thread's priority");
}

void KeepOneHeap() { (void)::mallopt(M_ARENA_MAX, 1); }

uint64_t AllowAllOpenFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return MaxOpenFiles();
}

uint64_t MaxOpenFiles() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace penstock::posix
