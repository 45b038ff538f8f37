// A seccomp filter that allows a list of system calls. Every other call, and every call by another
// ABI of the machine (32-bit, x32), kills the process.
#pragma once

#include <linux/filter.h>

#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sandbox/allowed_call.h"

namespace penstock::sandbox {

class CallFilter {
 public:
  // **Errors**: what libseccomp says; FailedPrecondition if there is no seccomp here.
  static absl::StatusOr<CallFilter> Make(std::span<const AllowedCall> calls);

  // The very same program, except that a forbidden call fails with this errno instead of killing.
  // For a process that must report what is forbidden.
  CallFilter FailingWith(int error) const;

  // Installs it in the calling thread, for good. **Requires**: the process has one thread, and has
  // given up the right to gain privileges. **Errors**: FailedPrecondition if the kernel or the
  // container doesn't allow it.
  absl::Status Install() const;

  std::span<const sock_filter> program() const { return program_; }

 private:
  explicit CallFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;
};

}  // namespace penstock::sandbox
