// Prints the findings of `penstockctl check`, for people and for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/check/finding.h"

namespace penstock::ctl {

std::string Show(const std::vector<Finding>& findings);
std::string Json(const std::vector<Finding>& findings);

}  // namespace penstock::ctl
