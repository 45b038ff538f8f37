// Shuts the calling process in, for good. See the README for what remains possible.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "common/sandbox/allowed_call.h"

namespace penstock::sandbox {

// Built with a sanitizer, whose runtime needs what a sandbox forbids.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsInstrumented = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kIsInstrumented = true;
#else
inline constexpr bool kIsInstrumented = false;
#endif
#else
inline constexpr bool kIsInstrumented = false;
#endif

struct SandboxOptions {
  // In addition to CallsOfEveryProcess.
  std::vector<AllowedCall> calls = {};
  // What a forbidden call does: 0: it kills the process; else it fails with this errno.
  int fail_with = 0;
};

// What is in force besides the filter.
struct EnteredSandbox {
  bool filters_calls = false;  // false only if kIsInstrumented
  int landlock = 0;            // version; 0: none
};

// The first part, which works everywhere and has no effect on what the process does itself: no new
// privileges, no core file, not dumpable. Afterwards the process's /proc belongs to root.
void GiveUpPrivileges();

// The first part, and the rest: no new processes, Landlock, and the filter. Call it after shared
// memory is mapped and before the first foreign byte.
// **Requires**: the process has one thread. **Errors**: FailedPrecondition if there is no seccomp
// here; the process must then not go on.
absl::StatusOr<EnteredSandbox> Enter(const SandboxOptions& options);

}  // namespace penstock::sandbox
