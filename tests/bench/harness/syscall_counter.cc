#include "tests/bench/harness/syscall_counter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace penstock::bench {
namespace {

// Global, because a signal handler gets no argument. Only the counting thread uses it.
volatile uint64_t counted = 0;

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool kKnownMachine = true;

void Answer(ucontext_t& context, long value) {
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RAX] = value;
#else
  context.uc_mcontext.regs[0] = static_cast<uint64_t>(value);
#endif
}
#else
constexpr bool kKnownMachine = false;
void Answer(ucontext_t&, long) {}
#endif

#if defined(PENSTOCK_ASAN)
constexpr uint32_t kSanitizersOwn =
    __NR_sigaltstack;  // ASan calls it before functions that do not return
#else
constexpr uint32_t kSanitizersOwn = __NR_exit_group;  // none
#endif

void CountOne(int, siginfo_t*, void* context) {
  counted = counted + 1;
  Answer(*static_cast<ucontext_t*>(context), -EAGAIN);
}

}  // namespace

absl::Status CountSystemCalls() {
  if (!kKnownMachine) {
    return absl::UnimplementedError("system calls can be counted on x86-64 and arm64 only");
  }
  struct sigaction action = {};
  action.sa_sigaction = CountOne;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);

  // Allows the handler's return and the end of the process; traps everything else.
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSanitizersOwn, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = std::size(filter), .filter = filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return base::ErrnoStatus(errno, "counting system calls with seccomp",
                             "use a machine and a container that allow seccomp filters");
  }
  return absl::OkStatus();
}

uint64_t CountedSystemCalls() { return counted; }

}  // namespace penstock::bench
