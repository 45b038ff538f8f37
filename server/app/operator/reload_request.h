// Asks a running daemon to reload, for `penstockd --reload FILE`, which systemd's ExecReload= runs.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::app {

// Waits until the daemon at this operators' socket has read its configuration, `file`, again.
// Returns what has changed. **Errors**: the daemon's refusal, also if it reads another file;
// PermissionDenied if it hung up on this user; Unavailable if none answers there.
absl::StatusOr<std::vector<std::string>> AskToReload(const std::string& admin_socket,
                                                     const std::string& file);

}  // namespace penstock::app
