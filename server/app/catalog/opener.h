// Who wants to open a dataset, or to see what there is.
#pragma once

#include <sys/types.h>

#include <vector>

namespace penstock::app {

struct Opener {
  uid_t uid = 0;
  std::vector<gid_t> groups;
  bool is_operator = false;  // may open and see all that is configured
};

}  // namespace penstock::app
