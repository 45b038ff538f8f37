#include "server/app/preflight/process_limits.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>
#include <latch>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"

namespace penstock::app {
namespace {

struct Least {
  __rlimit_resource_t what;
  absl::string_view name;
  absl::string_view raised_by;
  uint64_t needed;
  bool in_bytes;
};

// A daemon without sessions has 38 files open and 190 MiB of private memory, most of it the stacks
// of its threads. The probes' and sessions' memory are files to the kernel.
constexpr Least kLeast[] = {
    {RLIMIT_NOFILE, "open files", "LimitNOFILE=, ulimit -n", 128, false},
    {RLIMIT_STACK, "stack size", "LimitSTACK=, ulimit -s", base::kMiB, true},
    {RLIMIT_DATA, "private memory", "LimitDATA=, ulimit -d", base::kGiB, true},
    {RLIMIT_AS, "address space", "LimitAS=, ulimit -v", base::kGiB, true},
    {RLIMIT_FSIZE, "file size", "LimitFSIZE=, ulimit -f", 16 * base::kMiB, true},
};

std::string Amount(uint64_t number, bool in_bytes) {
  return in_bytes ? base::FormatBytes(number) : absl::StrCat(number);
}

void* WaitToLeave(void* leaving) {
  static_cast<std::latch*>(leaving)->wait();
  return nullptr;
}

// For what stands for a process, whose stack is no memory of ours.
constexpr size_t kSmallStack = 64 << 10;

}  // namespace

absl::Status CheckProcessLimits() {
  for (const Least& least : kLeast) {
    rlimit limit{};
    if (::getrlimit(least.what, &limit) != 0 || limit.rlim_cur >= least.needed) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the limit on ", least.name, " is ", Amount(limit.rlim_cur, least.in_bytes),
                     ", and a daemon needs ", Amount(least.needed, least.in_bytes), "; raise it (",
                     least.raised_by, ")"));
  }
  return absl::OkStatus();
}

absl::Status TryToStart(const Starts& starts) {
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, kSmallStack);
  const size_t count = starts.threads + starts.processes;
  std::latch leaving(1);
  std::vector<pthread_t> threads;
  int error = 0;
  while (error == 0 && threads.size() < count) {
    pthread_t thread{};
    const bool is_own = threads.size() < starts.threads;
    error = ::pthread_create(&thread, is_own ? nullptr : &small, WaitToLeave, &leaving);
    if (error == 0) threads.push_back(thread);
  }
  leaving.count_down();
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&small);
  if (error == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon's user may not start ", count,
      " more threads and processes; raise the limit of them (LimitNPROC=, ulimit -u), that of the "
      "service or container (TasksMax=, --pids-limit), or those of memory, in which stacks count "
      "(LimitDATA=, LimitAS=)"));
}

}  // namespace penstock::app
