// What a hijacked worker or indexer would try, one system call for each attempt, in the order of
// kAttempts.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace penstock::sandbox {

struct AttemptTarget {
  pid_t daemon = 0;
  uint64_t address = 0;      // of a number in the daemon's memory, to be overwritten with itself
  const char* folder = "/";  // one in which the daemon may write
};

// Makes one attempt. Returns 0 if it succeeded (and undoes it), else the errno. Never allocates.
int Attempt(size_t which, const AttemptTarget& target);

}  // namespace penstock::sandbox
