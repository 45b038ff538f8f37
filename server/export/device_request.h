// What a session requests of a GPU. Plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "common/cuda/device.h"
#include "common/cuda/slab.h"

namespace penstock::exporting {

inline constexpr uint32_t kMaxDeviceDepth = 16;

// A process's own view of its PID.
struct ProcessName {
  int32_t pid = 0;             // 0: unknown
  uint64_t pid_namespace = 0;  // inode; 0: unknown
};

struct DeviceRequest {
  cuda::Uuid gpu;
  uint32_t depth = 0;  // batches on it at once, at most kMaxDeviceDepth; 0: the configured default
  std::optional<cuda::HandleKind> kind = {};  // unset: the daemon chooses
  ProcessName client;
};

}  // namespace penstock::exporting
