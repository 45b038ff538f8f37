// A trainer in a process of its own, which resumes whenever its daemon is gone, until it has had
// all epochs: the program penstock-test-trainee (trainee_main.cc).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/programs/program.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {

class Trainee {
 public:
  // `program`: penstock-test-trainee, or another with its arguments. `how`: "state", which resumes
  // by its state in a new client; "order", whose session resumes by itself and reads in an order of
  // its own; or "visit", which takes a batch of each of some sessions that need more memory than
  // there is for all of them, and ends if the daemon does.
  struct Task {
    std::string program, address, dataset, how;
  };
  // It writes what it gets to the file `out`, and in its first epoch waits until `gate` is there.
  struct Files {
    std::string out, gate;
  };
  Trainee(const Task& task, const Files& files, const Identity& as);
  ~Trainee();  // kills it
  Trainee(const Trainee&) = delete;
  Trainee& operator=(const Trainee&) = delete;

  Delivered Got() const;                    // so far
  std::vector<std::string> Errors() const;  // that it printed
  bool HasEnded();                          // by itself
  bool ended_well() const { return ended_well_; }

 private:
  const std::string out_;
  pid_t pid_ = -1;
  bool ended_well_ = false;
};

}  // namespace penstock::testing
