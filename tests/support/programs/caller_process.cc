#include "tests/support/programs/caller_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock::testing {

CallerProcess::CallerProcess(const std::string& address, const std::string& door,
                             const Identity& as) {
  ::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  const std::string program = ProgramPath("penstock-test-caller");
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    as.Become();
    execl(program.c_str(), program.c_str(), address.c_str(), door.empty() ? nullptr : door.c_str(),
          nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = out[0];
}

CallerProcess::~CallerProcess() {
  close(in_);
  close(out_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string CallerProcess::Say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return "";
  std::string answer;
  for (char c; read(out_, &c, 1) == 1 && c != '\n';) answer += c;
  return answer;
}

CallerProcess::Answer CallerProcess::Call(const std::string& method, const std::string& json) {
  const std::string said = Say(method + " " + json);
  const size_t space = said.find(' ');
  if (space == std::string::npos) return {};
  return {std::atoi(said.c_str()), said.substr(space + 1)};
}

}  // namespace penstock::testing
