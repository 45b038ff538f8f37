// What a hijacked worker would try, one system call each. The order is that of kAttempts.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace penstock::workers {

struct AttemptTarget {
  pid_t daemon = 0;
  uint64_t address = 0;      // of memory of the daemon that may be overwritten with itself
  const char* folder = "/";  // in which the daemon may write
};

// Tries one. Returns 0 if it succeeded (and undoes what it did), else the errno. Never allocates.
int Attempt(size_t which, const AttemptTarget& target);

}  // namespace penstock::workers
