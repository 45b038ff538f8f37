#include "common/sandbox/allowed_call.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace penstock::sandbox {
namespace {

using Test = ArgumentRule::Test;

constexpr unsigned kProtection = 2;        // argument of mmap and mprotect
constexpr unsigned kFlags = 3;             // of mmap and mremap
constexpr uint64_t kMostStack = 16 << 20;  // twice what sandbox.cc leaves

ArgumentRule Protected(uint64_t how) { return {.index = kProtection, .value = how}; }

// RLIMIT_DATA counts only private memory that can be written and does not grow like a stack.
// Memory that cannot be used at all costs nothing.
AllowedCall MapPrivate(uint64_t protection) {
  return {SYS_mmap,
          {Protected(protection),
           {.index = kFlags,
            .value = MAP_PRIVATE | MAP_ANONYMOUS,
            .ignored = MAP_NORESERVE | MAP_FIXED | MAP_STACK}}};
}

// realloc. The stack is not counted, so none of it may be moved and enlarged; it lies above
// everything that mmap finds a place for.
AllowedCall MoveMapping() {
  const uint64_t in_stack = ::getauxval(AT_RANDOM);
  return {SYS_mremap,
          {{.index = 0, .test = Test::kIsBelow, .value = in_stack - kMostStack},
           {.index = kFlags, .value = MREMAP_MAYMOVE}}};
}

// abort() and failed checks. Signals to this process only.
AllowedCall SignalToOneself() {
  const auto self = static_cast<uint64_t>(::getpid());
  return {SYS_tgkill, {{.index = 0, .value = self}, {.index = 1, .value = self}}};
}

}  // namespace

AllowedCall WithFirst(int number, uint64_t first) { return {number, {{.value = first}}}; }

AllowedCall MapSharedFile(int protection) {
  return {SYS_mmap,
          {Protected(static_cast<uint64_t>(protection)), {.index = kFlags, .value = MAP_SHARED}}};
}

std::vector<AllowedCall> CallsOfEveryProcess() {
  return {
      // malloc. When memory runs out, glibc counts the cores to decide whether to create another
      // heap, and creates it with mprotect.
      {SYS_brk},
      MapPrivate(PROT_READ | PROT_WRITE),
      MapPrivate(PROT_NONE),
      {SYS_mprotect, {Protected(PROT_READ | PROT_WRITE)}},
      MoveMapping(),
      {SYS_munmap},
      {SYS_madvise},
      {SYS_sched_getaffinity},
      {SYS_getrandom},
      {SYS_sysinfo},  // glibc's qsort asks how much memory there is
      {SYS_futex},    // pthread_once wakes waiters at its end, even if there are none
      // For machines whose clock cannot be read without a system call.
      {SYS_clock_gettime},
      // Resumes a wait after the process was stopped (SIGSTOP, frozen cgroup, suspended machine).
      {SYS_restart_syscall},
      {SYS_close},
      {SYS_fstat},
      // Messages on standard error, the C library's own included.
      WithFirst(SYS_write, STDERR_FILENO),
      WithFirst(SYS_writev, STDERR_FILENO),
      // Exit and abort.
      {SYS_exit_group},
      {SYS_exit},
      {SYS_rt_sigprocmask},
      {SYS_getpid},
      {SYS_gettid},
      SignalToOneself(),
  };
}

}  // namespace penstock::sandbox
