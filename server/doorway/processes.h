// The processes behind the peers: one pidfd each, however often a process connected, watched until
// it is gone. Disconnected peers stay here as long as their process may hold slots. How many there
// may be is for others to say (guests.h). One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/posix/fd.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

class Processes {
 public:
  // Adds a peer to its process. `pid` is 0 where the kernel cannot name it; then each peer counts
  // as a process of its own. The result's pidfd is new, and to be watched under `key`, when
  // `is_new`.
  struct Entry {
    uint64_t key = 0;
    bool is_new = false;
  };
  Entry Add(PeerId peer, pid_t pid, posix::Fd pidfd);

  // The pidfd of a process; it stays valid until Remove.
  const posix::Fd& pidfd(uint64_t key) const { return processes_.at(key).pidfd; }

  // Whether the process is one of ours and is gone.
  bool IsGone(uint64_t key) const;

  // Forgets a process: its peers, in the order they came.
  std::vector<PeerId> Remove(uint64_t key);

  // Forgets a peer whose process holds nothing for it: the key of that process, where it was the
  // last one, which then is to be removed. Nothing as well for a peer that is not here.
  std::optional<uint64_t> Forget(PeerId peer);
  bool Contains(PeerId peer) const { return process_of_.contains(peer); }

 private:
  struct Process {
    pid_t pid = 0;
    posix::Fd pidfd;
    std::set<PeerId> peers;  // ids rise
  };
  // A living process has its pid to itself; one that is gone but not removed yet may share it.
  std::optional<uint64_t> FindLiving(pid_t pid) const;

  uint64_t last_key_ = 0;
  std::map<uint64_t, Process> processes_;
  std::map<PeerId, uint64_t> process_of_;
};

}  // namespace penstock::doorway
