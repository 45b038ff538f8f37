// Limits of a process that parses or decodes files. They hold without a sandbox, too.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::sandbox {

struct ProcessLimits {
  uint64_t open_files = 0;
  // Its own memory, without segments and other memory that it maps by a descriptor. Not in builds
  // with a sanitizer, whose shadow memory would count.
  uint64_t memory = 0;
  uint64_t addresses = 0;  // all that it maps; 0: no limit
};

// Limits the calling process, and volunteers it for the kernel's choice when memory runs out: it
// can be replaced, unlike the daemon and the trainers. A stricter limit that it has inherited stays
// as it is. Call it before the process gives up its /proc (GiveUpPrivileges).
// **Errors**: FailedPrecondition names the limit.
absl::Status LimitProcess(const ProcessLimits& limits);

}  // namespace penstock::sandbox
