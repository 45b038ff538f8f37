#include "tests/system/failpoints/trainee.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace penstock::testing {

Trainee::Trainee(const Task& task, const Files& files, const Identity& as) : out_(files.out) {
  const int file = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  EXPECT_GE(file, 0) << out_;
  const std::string program = ProgramPath(task.program);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(file, STDOUT_FILENO);
    unsetenv("PENSTOCK_FAILPOINTS");  // only the daemon's programs have them
    as.Become();
    execl(program.c_str(), program.c_str(), task.address.c_str(), task.dataset.c_str(),
          task.how.c_str(), files.gate.c_str(), nullptr);
    _exit(127);
  }
  close(file);
}

Trainee::~Trainee() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Trainee::HasEnded() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return pid_ <= 0;
  pid_ = -1;
  ended_well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return true;
}

// A line a row, and a line at the end of each batch; the last one may be half written.
Delivered Trainee::Got() const {
  Delivered got;
  std::ifstream file(out_);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    if (line == "batch") ++got.batches;
    std::istringstream words(line);
    std::pair<uint64_t, uint64_t> place;
    Delivered::Row row;
    if (!(words >> place.first >> place.second >> row.pixels >> row.label >> row.sample)) continue;
    if (!got.rows.emplace(place, row).second) ++got.twice;
  }
  return got;
}

std::vector<std::string> Trainee::Errors() const {
  std::vector<std::string> errors;
  std::ifstream file(out_);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("error ")) errors.push_back(line);
  return errors;
}

}  // namespace penstock::testing
