// What `penstockctl check` says: a line each, with what to do.
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
  std::string remedy;  // "" when all is well
};

// Pure, all of them.
std::vector<Finding> GradeFacts(const Facts& facts);

// In parts: what the machine gives, the GPUs, the daemon with its socket, and what it feeds.
std::vector<Finding> GradeMachine(const Facts& facts);
std::vector<Finding> GradeGpus(const Facts& facts);
std::vector<Finding> GradeDaemon(const Facts& facts);
std::vector<Finding> GradeRoots(const Facts& facts);

inline std::string WordsOf(const absl::Status& status) { return std::string(status.message()); }

bool HasProblem(const std::vector<Finding>& findings);

}  // namespace penstock::ctl
