// The result of `penstockctl check`: one line for each finding, with its remedy.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/check/facts.h"

namespace penstock::ctl {

enum class Grade { kOk, kWarning, kProblem };

struct Finding {
  Grade grade = Grade::kOk;
  std::string what;    // "memory"
  std::string found;   // "3.1 GiB available"
  std::string remedy;  // "" for kOk
};

// All grading functions are pure.
std::vector<Finding> GradeFacts(const Facts& facts);

// The parts: the machine, the GPUs, the daemon with its socket, and its datasets.
std::vector<Finding> GradeMachine(const Facts& facts);
std::vector<Finding> GradeGpus(const Facts& facts);
std::vector<Finding> GradeDaemon(const Facts& facts);
std::vector<Finding> GradeRoots(const Facts& facts);

inline std::string ToWords(const absl::Status& status) { return std::string(status.message()); }

bool HasProblem(const std::vector<Finding>& findings);

}  // namespace penstock::ctl
