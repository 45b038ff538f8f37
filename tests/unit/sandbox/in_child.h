// Runs a function in a child process and returns how the process ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace penstock::sandbox {

// Returns the exit code, which `run` returns, or minus the signal.
template <typename Run>
int InChild(const Run& run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace penstock::sandbox
