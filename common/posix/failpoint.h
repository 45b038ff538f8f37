// Failpoints: named places at which a test may make the process die, fail or wait. They exist only
// in builds with the CMake option PENSTOCK_FAILPOINTS; elsewhere the macros are nothing.
//
//   PENSTOCK_FAILPOINT("pool.segment_made");         // may kill, exit, delay, pause
//   PENSTOCK_FAILPOINT_RETURN("state.write");        // … or return an error
//
// The environment variable PENSTOCK_FAILPOINTS says what they do, as name=terms, separated by
// semicolons. Terms are [count*]action[(argument)], separated by "->"; each is used up after
// `count` times, and the last one without a count stays:
//
//   off               nothing
//   kill              SIGKILL to the own process
//   exit(code)        _exit; 1 by default
//   error(code)       PENSTOCK_FAILPOINT_RETURN returns this absl::StatusCode, by its number;
//                     14 (Unavailable) by default
//   delay(ms)         sleeps; 100 by default
//   pause             sleeps until the process is killed
//
//   PENSTOCK_FAILPOINTS='state.write=2*off->1*kill;quarantine.write=error(13)'
//
// PENSTOCK_FAILPOINTS=list prints the names of all failpoints of the program, one a line, and ends
// it. Wrong terms end the program with exit code 2. PENSTOCK_FAILPOINTS_LOG=FILE appends a line
// with the name and the action whenever a failpoint acts.
//
// **Thread safety**: any thread.
#pragma once

#ifdef PENSTOCK_FAILPOINTS

#include "absl/status/status.h"

namespace penstock::posix {

// Does what the environment says for this name. Not OK: the error to return.
absl::Status AtFailpoint(const char* name);

}  // namespace penstock::posix

// The section's start and end are known to the linker, so all names can be listed, also of places
// that are never reached.
#define PENSTOCK_FAILPOINT_NAME(name)                               \
  [[maybe_unused]] static const char* const penstock_failpoint_name \
      __attribute__((section("penstock_failpoints"), used)) = name

#define PENSTOCK_FAILPOINT(name)                        \
  do {                                                  \
    PENSTOCK_FAILPOINT_NAME(name);                      \
    ::penstock::posix::AtFailpoint(name).IgnoreError(); \
  } while (false)

#define PENSTOCK_FAILPOINT_RETURN(name)                                                           \
  do {                                                                                            \
    PENSTOCK_FAILPOINT_NAME(name);                                                                \
    if (absl::Status penstock_fails = ::penstock::posix::AtFailpoint(name); !penstock_fails.ok()) \
      return penstock_fails;                                                                      \
  } while (false)

#else

#define PENSTOCK_FAILPOINT(name) static_cast<void>(0)
#define PENSTOCK_FAILPOINT_RETURN(name) static_cast<void>(0)

#endif
