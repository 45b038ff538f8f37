// Which kind of handle a session gets for its slabs, and why. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/cuda/slab.h"
#include "server/export/device_request.h"

namespace penstock::exporting {

struct HandleChoice {
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  std::string reason;
};

// CUDA IPC identifies processes by their PIDs in their own namespaces: a client with the daemon's
// PID number in another PID namespace cannot open the daemon's handles. Such a client gets a
// descriptor unless it requests another kind.
HandleChoice ChooseHandle(std::optional<cuda::HandleKind> requested, const ProcessName& client,
                          const ProcessName& daemon);

// The name of this process.
ProcessName OurName();

}  // namespace penstock::exporting
