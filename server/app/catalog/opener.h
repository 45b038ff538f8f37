// Who wants to open or list datasets.
#pragma once

#include <sys/types.h>

#include <vector>

namespace penstock::app {

struct Opener {
  uid_t uid = 0;
  std::vector<gid_t> groups = {};
  bool is_operator = false;  // may open and see all configured datasets
};

}  // namespace penstock::app
