// A program as a probe: it enters its usual sandbox, and reports what it can still do.
#pragma once

#include <functional>

#include "common/base/status.h"
#include "common/sandbox/sandbox.h"

namespace penstock::sandbox {

// Enters the program's sandbox.
using ConfineProgram = std::function<absl::StatusOr<EnteredSandbox>(const ProbeHooks&)>;

// Writes its findings into the inherited ProbePage. Returns the exit code: 0 if it could try
// everything, 2 if not, with a message on standard error or in the page.
// **Requires**: the process has one thread, and nothing else to do.
int RunProbe(const ConfineProgram& confine);

}  // namespace penstock::sandbox
