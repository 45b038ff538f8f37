// The file in which the daemon and its workers and indexers count how often they reach each
// failpoint (common/posix/failpoint_counts.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/posix/failpoint_counts.h"
#include "common/posix/memory.h"

namespace penstock::testing {

class CountsFile {
 public:
  // Makes the file, which then belongs to this user, and sets PENSTOCK_FAILPOINTS_COUNTS.
  CountsFile(const std::string& path, uid_t owner);
  ~CountsFile();

  // How often each failpoint acted.
  std::map<std::string, int> Acted() const;
  // For a new daemon: its terms apply from their beginning.
  void BeginTermsAnew();

 private:
  posix::FailpointCounts& counts() const {
    return *reinterpret_cast<posix::FailpointCounts*>(mapping_.data());
  }

  posix::Mapping mapping_;
};

}  // namespace penstock::testing
