// A seccomp filter that allows a list of system calls. Every other call kills the process, and so
// does every call through another ABI of the machine (32-bit, x32).
#pragma once

#include <linux/filter.h>

#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sandbox/allowed_call.h"

namespace penstock::sandbox {

class CallFilter {
 public:
  // **Errors**: libseccomp's; FailedPrecondition if there is no seccomp here.
  static absl::StatusOr<CallFilter> Make(std::span<const AllowedCall> calls);

  // The same filter, except that a forbidden call fails with this errno and doesn't kill. For a
  // process that must report which calls are forbidden.
  CallFilter FailingWith(int error) const;

  // Installs the filter in the calling thread; it cannot be removed. **Requires**: the process has
  // one thread, and has given up the right to gain privileges. **Errors**: FailedPrecondition if
  // the kernel or the container doesn't allow it.
  absl::Status Install() const;

  std::span<const sock_filter> program() const { return program_; }

 private:
  explicit CallFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;
};

}  // namespace penstock::sandbox
