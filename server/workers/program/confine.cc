#include "server/workers/program/confine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/sandbox/limits.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kOpenFiles = 64;

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
      sandbox::MapSharedFile(PROT_READ | PROT_WRITE),  // segments
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
  // RLIMIT_AS would include the segments.
  PENSTOCK_RETURN_IF_ERROR(
      sandbox::LimitProcess({.open_files = kOpenFiles, .memory = memory_bytes}));
  if (mode == SandboxMode::kOff) {
    sandbox::GiveUpPrivileges();
    return sandbox::EnteredSandbox{};
  }
  std::vector<sandbox::AllowedCall> calls = CallsOfAWorker();
  calls.insert(calls.end(), exceptions.more.begin(), exceptions.more.end());
  return sandbox::Enter({.calls = std::move(calls), .hooks = exceptions.hooks});
}

}  // namespace penstock::workers
