// Confines a worker: its limits, and its sandbox (common/sandbox).
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/sandbox/sandbox.h"
#include "server/workers/queue/channel.h"

namespace penstock::workers {

// For processes that are not workers.
struct Exceptions {
  sandbox::ProbeHooks hooks = {};  // a probe reports what would kill a worker
  std::vector<sandbox::AllowedCall> more = {};
};

// Call it once all inherited memory is mapped. With SandboxMode::kOff only the limits apply. After
// an error the worker must not decode.
absl::StatusOr<sandbox::EnteredSandbox> Confine(uint64_t memory_bytes, SandboxMode mode,
                                                const Exceptions& exceptions = {});

}  // namespace penstock::workers
