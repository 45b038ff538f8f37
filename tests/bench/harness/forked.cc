#include "tests/bench/harness/forked.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace penstock::bench {
namespace {

[[noreturn]] void RunChild(pid_t parent, const std::function<int()>& body) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the prctl
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  ::_exit(body());
}

}  // namespace

absl::StatusOr<ForkedChild> ForkedChild::Start(const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(parent, body);
  if (pid < 0) {
    return base::ErrnoStatus(errno, "starting a child process",
                             "check the limit on processes (ulimit -u, pids.max)");
  }
  return ForkedChild(pid);
}

ForkedChild::~ForkedChild() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::Status ForkedChild::Check() {
  int status = 0;
  if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) == 0) return absl::OkStatus();
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(WIFSIGNALED(status)
                                 ? absl::StrCat("a child was killed by signal ", WTERMSIG(status))
                                 : absl::StrCat("a child ended with ", WEXITSTATUS(status)));
}

}  // namespace penstock::bench
