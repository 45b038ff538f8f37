// Runs a function in a child process, and says how that ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace penstock::sandbox {

// The exit code, or minus the signal. `run` returns the code.
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
