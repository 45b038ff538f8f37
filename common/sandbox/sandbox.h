// Puts the calling process into a sandbox that it cannot leave. The README says what remains
// possible.
#pragma once

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/sandbox/allowed_call.h"

namespace penstock::sandbox {

// True in builds with a sanitizer, whose runtime needs what a sandbox forbids.
#if defined(PENSTOCK_ASAN) || defined(PENSTOCK_TSAN)
inline constexpr bool kIsInstrumented = true;
#else
inline constexpr bool kIsInstrumented = false;
#endif

// For processes that test a sandbox.
struct ProbeHooks {
  // 0: a forbidden call kills the process. Else it fails with this errno.
  int fail_with = 0;
  // Called behind Landlock and all else, but before the filter, with Landlock's version; 0: none.
  std::function<void(int landlock)> before_filter = {};
};

struct SandboxOptions {
  // In addition to CallsOfEveryProcess.
  std::vector<AllowedCall> calls = {};
  ProbeHooks hooks = {};
};

// What is in force besides the filter.
struct EnteredSandbox {
  bool filters_calls = false;  // false only if kIsInstrumented
  int landlock = 0;            // version; 0: none
};

// The first part of Enter: no new privileges, no core file, not dumpable. It works everywhere and
// restricts none of the process's own work. Afterwards the process's /proc belongs to root.
void GiveUpPrivileges();

// Calls GiveUpPrivileges, forbids new processes, limits the stack, enters a Landlock domain, and
// installs the filter.
// Call it after mapping shared memory and before reading the first foreign byte.
// **Requires**: the process has one thread. **Errors**: FailedPrecondition if there is no seccomp
// here; the process must then stop.
absl::StatusOr<EnteredSandbox> Enter(const SandboxOptions& options);

}  // namespace penstock::sandbox
