// Failpoints: named places in the code where a test can make the process die, fail or wait. They
// exist only in builds with the CMake option PENSTOCK_FAILPOINTS; in others the macros are empty.
//
//   PENSTOCK_FAILPOINT("pool.segment_made");         // may kill, exit, delay, pause
//   PENSTOCK_FAILPOINT_RETURN("state.write");        // … or return an error
//
// The environment variable PENSTOCK_FAILPOINTS says what they do: a list of name=terms, separated
// by semicolons. Terms have the form [count*]action[(argument)] and are separated by "->". A term
// applies `count` times, then the next one does; a term without a count applies for ever. Actions:
//
//   off               does nothing
//   kill              kills the process with SIGKILL
//   exit(code)        calls _exit; the default is 1
//   error(code)       PENSTOCK_FAILPOINT_RETURN returns the absl::StatusCode with this number; the
//                     default is 14 (Unavailable)
//   delay(ms)         sleeps; the default is 100
//   pause             sleeps until the process is killed
//
//   PENSTOCK_FAILPOINTS='state.write=2*off->1*kill;quarantine.write=error(13)'
//
// With PENSTOCK_FAILPOINTS=list the program prints the names of all its failpoints, one on each
// line, and exits. With invalid terms it exits with code 2.
//
// The daemon's workers and indexers inherit these variables, and each of these processes counts for
// itself. With PENSTOCK_FAILPOINTS_COUNTS=FILE they count together, in that file
// (failpoint_counts.h): a term that applies once then kills one worker, and not its replacement,
// too. Failpoints work in a sandbox, because the file is mapped when the program starts, and the
// actions use only calls that a worker may make.
//
// **Thread safety**: any thread.
#pragma once

#ifdef PENSTOCK_FAILPOINTS

#include "absl/status/status.h"

namespace penstock::posix {

// Does what PENSTOCK_FAILPOINTS says for this name. Returns the error of an error(code) term.
absl::Status AtFailpoint(const char* name);

}  // namespace penstock::posix

// Puts the name into a section whose start and end the linker knows, so that all names can be
// listed, even those of places that are never reached.
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
