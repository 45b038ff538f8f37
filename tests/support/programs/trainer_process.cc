#include "tests/support/programs/trainer_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/programs/program.h"

namespace penstock::testing {

TrainerProcess::TrainerProcess(const std::string& address, const std::string& dataset,
                               const std::string& mode, const Identity& as) {
  int out[2];
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  const std::string program = ProgramPath("penstock-test-trainer");
  pid_ = fork();
  if (pid_ == 0) {
    dup2(out[1], STDOUT_FILENO);
    as.Become();
    execl(program.c_str(), program.c_str(), address.c_str(), dataset.c_str(), mode.c_str(),
          nullptr);
    _exit(127);
  }
  close(out[1]);
  constexpr ssize_t kHolding = sizeof("holding\n") - 1;
  char said[kHolding];
  EXPECT_EQ(read(out[0], said, sizeof(said)), kHolding) << "the trainer did not get its batches";
  close(out[0]);
}

TrainerProcess::~TrainerProcess() {
  if (pid_ > 0) Kill();
}

void TrainerProcess::Kill() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace penstock::testing
