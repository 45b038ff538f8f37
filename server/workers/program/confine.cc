#include "server/workers/program/confine.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace penstock::workers {
namespace {

constexpr rlim_t kOpenFiles = 64;
// Worth half of the machine's memory, so that a worker's score exceeds that of the daemon with its
// pool.
constexpr char kOomScore[] = "500";

absl::Status Limit(int what, rlim_t value) {
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  if (::setrlimit(static_cast<__rlimit_resource_t>(what), &limit) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "limiting the worker");
}

// If memory runs out, the kernel should kill a worker, which can be replaced, rather than the
// daemon or a trainer. Any process may raise its own score, so this fails only without /proc.
void VolunteerForTheOomKiller() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, kOomScore, sizeof(kOomScore) - 1);
  ::close(file);
}

// The calls that a worker needs in addition to CallsOfEveryProcess: it waits for its channel and
// its socket, receives segments, and notifies the daemon. It sends nothing, and reads no file.
std::vector<sandbox::AllowedCall> CallsOfAWorker() {
#ifdef SYS_poll
  constexpr int kPoll = SYS_poll;
#else
  constexpr int kPoll = SYS_ppoll;
#endif
  return {
      {kPoll},
      sandbox::WithFirst(SYS_recvmsg, kSocketNumber),
      sandbox::WithFirst(SYS_recvfrom, kWorkNumber),
      sandbox::WithFirst(SYS_write, kDoneNumber),
      // To find out whether descriptors were lost to the limit on open files
      // (common/posix/message.cc).
      {SYS_fcntl, {{.index = 0, .value = STDERR_FILENO}, {.index = 1, .value = F_DUPFD_CLOEXEC}}},
  };
}

}  // namespace

absl::StatusOr<sandbox::EnteredSandbox> Confine(uint64_t memory_bytes, SandboxMode mode,
                                                const Exceptions& exceptions) {
  VolunteerForTheOomKiller();  // while its /proc is its own
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, kOpenFiles));
  // Limits the memory that a malicious file can use. RLIMIT_AS would include the segments;
  // RLIMIT_DATA counts only private memory, which sanitizers' shadow memory is too.
  if (!sandbox::kIsInstrumented) PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_DATA, memory_bytes));
  if (mode == SandboxMode::kOff) {
    sandbox::GiveUpPrivileges();
    return sandbox::EnteredSandbox{};
  }
  std::vector<sandbox::AllowedCall> calls = CallsOfAWorker();
  calls.insert(calls.end(), exceptions.more.begin(), exceptions.more.end());
  return sandbox::Enter({.calls = std::move(calls), .fail_with = exceptions.fail_with});
}

}  // namespace penstock::workers
