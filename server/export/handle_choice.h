// Which kind of handle a session gets for its slabs, and why. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/cuda/slab.h"

namespace penstock::exporting {

// A process as it sees itself.
struct ProcessName {
  int32_t pid = 0;             // 0: not known
  uint64_t pid_namespace = 0;  // inode; 0: not known
};

struct HandleChoice {
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  std::string reason;
};

// CUDA IPC tells processes apart by their PIDs as they see them themselves: a client that has the
// daemon's number in another PID namespace cannot open its handles.
HandleChoice ChooseHandle(std::optional<cuda::HandleKind> wish, const ProcessName& client,
                          const ProcessName& daemon);

// This process.
ProcessName OurName();

}  // namespace penstock::exporting
