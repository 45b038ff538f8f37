// A process of the program penstock-test-intruder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/support/programs/program.h"

namespace penstock::testing {

class Intruder {
 public:
  // Runs it and waits until it has reported the outcome.
  Intruder(const std::string& address, const std::string& kind, const Identity& as) {
    int out[2];
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    const std::string program = ProgramPath("penstock-test-intruder");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      as.Become();
      execl(program.c_str(), program.c_str(), address.c_str(), kind.c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    for (char byte = 0; read(out[0], &byte, 1) == 1 && byte != '\n';) said_ += byte;
    close(out[0]);
    const size_t space = said_.find(' ');
    if (space == std::string::npos) return;
    count_ = std::stoi(said_.substr(0, space));
    words_ = said_.substr(space + 1);
  }
  ~Intruder() { Kill(); }
  Intruder(const Intruder&) = delete;
  Intruder& operator=(const Intruder&) = delete;

  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  int count() const { return count_; }                 // how often its attack succeeded
  const std::string& words() const { return words_; }  // the error message

 private:
  pid_t pid_ = -1;
  std::string said_, words_;
  int count_ = -1;
};

}  // namespace penstock::testing
