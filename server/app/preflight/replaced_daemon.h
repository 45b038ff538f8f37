// What a running daemon will free when it ends, for a preflight beside it.
// **Thread safety**: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/posix/tcp.h"

namespace penstock::app {

struct ReplacedDaemon {
  pid_t pid = 0;  // 0: there is none
  std::optional<uid_t> user = {};
  uint64_t pool_bytes = 0;  // the shared memory that it uses
  size_t threads = 0;
};

// Reads /proc/PID/status below `root`. Of a process that is gone or hidden, only the pid is known.
ReplacedDaemon LookAtReplaced(pid_t pid, const std::string& root = "");

// Whether its user listens at this port, according to /proc/net. Another process of that user
// counts, too: the kernel tells nobody but root which process has a socket.
bool ListensAt(const ReplacedDaemon& daemon, const posix::TcpAddress& address,
               const std::string& root = "");

}  // namespace penstock::app
