#include "common/sandbox/allowed_call.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace penstock::sandbox {
namespace {

constexpr unsigned kProtection = 2;  // argument of mmap and mprotect

AllowedCall NeverExecutable(int number) {
  return {number,
          {{.index = kProtection, .test = ArgumentRule::Test::kLacksBits, .value = PROT_EXEC}}};
}

// abort() and failed checks. Signals to this process only.
AllowedCall SignalToOneself() {
  const auto self = static_cast<uint64_t>(::getpid());
  return {SYS_tgkill, {{.index = 0, .value = self}, {.index = 1, .value = self}}};
}

}  // namespace

AllowedCall WithFirst(int number, uint64_t first) { return {number, {{.value = first}}}; }

std::vector<AllowedCall> CallsOfEveryProcess() {
  return {
      // malloc. When memory runs out, glibc counts the cores to decide whether to create another
      // heap, and creates it with mprotect.
      {SYS_brk},
      NeverExecutable(SYS_mmap),
      NeverExecutable(SYS_mprotect),
      {SYS_munmap},
      {SYS_mremap},
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
