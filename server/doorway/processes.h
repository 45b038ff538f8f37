// The processes behind the peers. Each process has one pidfd, however often it connected, which is
// watched until the process is gone. Disconnected peers stay here as long as their process may hold
// slots. guests.h limits the number of peers.
//
// **Thread safety**: used by one thread.
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
  // Adds a peer to its process. `pid` is 0 if the kernel cannot name the process; then each peer
  // counts as a separate process. If the returned Entry `is_new`, the caller must watch its pidfd
  // under `key`.
  struct Entry {
    uint64_t key = 0;
    bool is_new = false;
  };
  Entry Add(PeerId peer, pid_t pid, posix::Fd pidfd);

  // The pidfd of a process; valid until Remove.
  const posix::Fd& pidfd(uint64_t key) const { return processes_.at(key).pidfd; }

  // Whether the process is known here and gone.
  bool IsGone(uint64_t key) const;

  // Forgets a process and returns its peers in the order of their arrival.
  std::vector<PeerId> Remove(uint64_t key);

  // Forgets a peer for which its process holds nothing any more. If it was the process's last peer,
  // returns the process's key, for Remove. Otherwise, and for an unknown peer, returns nullopt.
  std::optional<uint64_t> Forget(PeerId peer);
  bool Contains(PeerId peer) const { return process_of_.contains(peer); }

 private:
  struct Process {
    pid_t pid = 0;
    posix::Fd pidfd;
    std::set<PeerId> peers;  // ids increase
  };
  // A running process's pid is unique, but one that is gone and not yet removed may have the same.
  std::optional<uint64_t> FindLiving(pid_t pid) const;

  uint64_t last_key_ = 0;
  std::map<uint64_t, Process> processes_;
  std::map<PeerId, uint64_t> process_of_;
};

}  // namespace penstock::doorway
