// The processes behind the peers: one pidfd each, however often a process connected, watched until
// it is gone. Disconnected peers stay here, because their process may still hold slots. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

class Processes {
 public:
  struct Limits {
    size_t processes = 4096;
    size_t peers_of_one = 4096;
  };
  explicit Processes(const Limits& limits) : limits_(limits) {}

  // Adds a peer to its process. `pid` is 0 where the kernel cannot name it; then each peer counts
  // as a process of its own. The result's pidfd is new, and to be watched under `key`, when
  // `is_new`.
  struct Entry {
    uint64_t key = 0;
    bool is_new = false;
  };
  absl::StatusOr<Entry> Add(PeerId peer, pid_t pid, posix::Fd pidfd);

  // The pidfd of a process; it stays valid until Remove.
  const posix::Fd& pidfd(uint64_t key) const { return processes_.at(key).pidfd; }

  // Whether the process is one of ours and is gone.
  bool IsGone(uint64_t key) const;

  // Forgets a process: its peers, in the order they came.
  std::vector<PeerId> Remove(uint64_t key);

 private:
  struct Process {
    pid_t pid = 0;
    posix::Fd pidfd;
    std::vector<PeerId> peers;
  };
  // A living process has its pid to itself; one that is gone but not removed yet may share it.
  std::optional<uint64_t> FindLiving(pid_t pid) const;

  Limits limits_;
  uint64_t last_key_ = 0;
  std::map<uint64_t, Process> processes_;
};

}  // namespace penstock::doorway
