#include "common/sandbox/sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

#include "common/sandbox/call_filter.h"
#include "common/sandbox/landlock.h"

namespace penstock::sandbox {
namespace {

void Forbid(__rlimit_resource_t what) {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(what, &none);  // lowering a limit is always allowed
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
  std::vector<AllowedCall> calls = CallsOfEveryProcess();
  calls.insert(calls.end(), options.calls.begin(), options.calls.end());
  PENSTOCK_ASSIGN_OR_RETURN(CallFilter filter, CallFilter::Make(calls));
  if (options.fail_with != 0) filter = filter.FailingWith(options.fail_with);
  const EnteredSandbox confinement{.filters_calls = true, .landlock = EnterLandlock()};
  PENSTOCK_RETURN_IF_ERROR(filter.Install());
  return confinement;
}

}  // namespace penstock::sandbox
