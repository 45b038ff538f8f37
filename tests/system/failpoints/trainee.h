// A trainer in a process of its own, which resumes whenever its daemon is gone, until it has had
// all epochs: the program penstock-test-trainee (trainee_main.cc).
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/programs/program.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {

class Trainee {
 public:
  // `how`: "state", which resumes by its state in a new client, or "order", whose session resumes
  // by itself and reads in an order of its own. It writes what it gets to the file `out`, and in
  // its first epoch waits until the file `gate` is there.
  struct Files {
    std::string out, gate;
  };
  Trainee(const std::string& address, const std::string& dataset, const std::string& how,
          const Files& files, const Identity& as);
  ~Trainee();  // kills it
  Trainee(const Trainee&) = delete;
  Trainee& operator=(const Trainee&) = delete;

  Delivered Got() const;  // so far
  bool HasEnded();        // by itself
  bool ended_well() const { return ended_well_; }

 private:
  const std::string out_;
  pid_t pid_ = -1;
  bool ended_well_ = false;
};

}  // namespace penstock::testing
