#include "common/sandbox/sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "common/sandbox/call_filter.h"
#include "common/sandbox/landlock.h"

namespace penstock::sandbox {
namespace {

void Forbid(__rlimit_resource_t what) {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(what, &none);  // lowering a limit is always allowed
}

// The stack does not count for RLIMIT_DATA.
void LimitStack() {
  constexpr rlim_t kMost = 8 << 20;
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_max = std::min(limit.rlim_max, kMost);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace

void GiveUpPrivileges() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  Forbid(RLIMIT_CORE);
}

absl::StatusOr<EnteredSandbox> Enter(const SandboxOptions& options) {
  GiveUpPrivileges();
  if (kIsInstrumented) return EnteredSandbox{};
  Forbid(RLIMIT_NPROC);
  LimitStack();
  std::vector<AllowedCall> calls = CallsOfEveryProcess();
  calls.insert(calls.end(), options.calls.begin(), options.calls.end());
  PENSTOCK_ASSIGN_OR_RETURN(CallFilter filter, CallFilter::Make(calls));
  const ProbeHooks& hooks = options.hooks;
  if (hooks.fail_with != 0) filter = filter.FailingWith(hooks.fail_with);
  const EnteredSandbox confinement{.filters_calls = true, .landlock = EnterLandlock()};
  if (hooks.before_filter) hooks.before_filter(confinement.landlock);
  PENSTOCK_RETURN_IF_ERROR(filter.Install());
  return confinement;
}

}  // namespace penstock::sandbox
