#include <algorithm>

#include "client/ctl/check/finding.h"

namespace penstock::ctl {

std::vector<Finding> GradeFacts(const Facts& facts) {
  std::vector<Finding> findings;
  for (const auto& part :
       {GradeMachine(facts), GradeGpus(facts), GradeDaemon(facts), GradeRoots(facts)})
    findings.insert(findings.end(), part.begin(), part.end());
  return findings;
}

bool HasProblem(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.grade == Grade::kProblem; });
}

}  // namespace penstock::ctl
