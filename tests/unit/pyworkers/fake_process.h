// A process that does nothing until it is killed. The test is its parent, as a host is a worker's.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "common/posix/process.h"

namespace penstock::pyworkers {

class FakeProcess {
 public:
  FakeProcess() : pid_(Fork()), pidfd_(std::make_shared<posix::Fd>(*posix::OpenPidfd(pid_))) {}
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;
  ~FakeProcess() { Die(); }

  std::shared_ptr<const posix::Fd> pidfd() const { return pidfd_; }

  void Die() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    AwaitDeath();
  }
  // Waits until somebody has killed it. Returns the signal.
  int AwaitDeath() {
    if (pid_ < 0) return 0;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WTERMSIG(status);
  }

 private:
  static pid_t Fork() {
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // it ended before the signal was asked for
    while (true) ::pause();
  }

  pid_t pid_;
  std::shared_ptr<const posix::Fd> pidfd_;
};

}  // namespace penstock::pyworkers
