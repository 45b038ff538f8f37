// The process that asked for a change, for the log.
#pragma once

#include <cstdint>

namespace penstock::session {

struct AskedBy {
  uint32_t user = 0;
  int32_t pid = 0;  // 0: unknown to the kernel
};

}  // namespace penstock::session
