// A separate process that trains until it is killed. It runs the program penstock-test-trainer.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/programs/program.h"

namespace penstock::testing {

class TrainerProcess {
 public:
  // Returns once the process holds two batches. `mode`: hold, fork, flood or large (see
  // trainer_main.cc).
  TrainerProcess(const std::string& address, const std::string& dataset, const std::string& mode,
                 const Identity& as = {});
  ~TrainerProcess();  // kills it
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  void Kill();  // sends SIGKILL and waits
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace penstock::testing
