#include "tests/support/programs/program.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace penstock::testing {

std::string ProgramPath(const std::string& name) {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / name;
}

void Identity::Become() const {
  if (IsOurs()) return;
  const bool done = setgroups(groups.size(), groups.data()) == 0 &&
                    setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
  if (!done) _exit(126);
}

Ended RunProgram(const std::string& name, const std::vector<std::string>& arguments,
                 const Identity& as) {
  const std::string program = ProgramPath(name);
  std::vector<char*> raw = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    alarm(30);  // the alarm stays set across exec
    as.Become();
    execv(raw[0], raw.data());
    _exit(127);
  }
  close(out[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t got; (got = read(out[0], buffer, sizeof(buffer))) > 0;)
    ended.output.append(buffer, static_cast<size_t>(got));
  close(out[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  ended.exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

}  // namespace penstock::testing
