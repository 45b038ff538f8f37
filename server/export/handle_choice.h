// Which kind of handle a session gets for its slabs, and why. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/cuda/slab.h"

namespace penstock::exporting {

// A process's own view of its PID.
struct ProcessName {
  int32_t pid = 0;             // 0: unknown
  uint64_t pid_namespace = 0;  // inode; 0: unknown
};

struct HandleChoice {
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  std::string reason;
};

// CUDA IPC identifies processes by their PIDs in their own namespaces: a client with the daemon's
// PID number in another PID namespace cannot open the daemon's handles. Such a client gets a
// descriptor unless it wishes otherwise.
HandleChoice ChooseHandle(std::optional<cuda::HandleKind> requested, const ProcessName& client,
                          const ProcessName& daemon);

// The name of this process.
ProcessName OurName();

}  // namespace penstock::exporting
