// The doorway: a Unix SEQPACKET socket at "<address>.door" where the kernel tells who a client is,
// passes descriptors to it, and says when it dies. One thread ("doorway") runs it; Send may be
// called from any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/strong_id.h"
#include "common/posix/fd.h"
#include "server/rpc/controller.h"

namespace penstock::doorway {

using PeerId = base::StrongId<struct PeerTag>;

// A process that came in, by the kernel's word.
struct Peer {
  PeerId id;
  rpc::Ticket ticket;
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string client;  // program and version, as it says itself; printable
};

// Called from the doorway's thread.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void OnArrived(const Peer& peer) = 0;
  // Its socket is closed; the process may live on and hold slots.
  virtual void OnDisconnected(PeerId peer) = 0;
  // Its process is gone, or it was forgotten: everything it held is free. Comes after
  // OnDisconnected, exactly once.
  virtual void OnGone(PeerId peer) = 0;
};

struct Options {
  std::string path;            // of the socket
  std::optional<gid_t> group;  // that may connect, beside our own user; nothing: our own group
  // Connected at once; more are refused in words, and of one user more than its share.
  uint32_t max_peers = 1024;
  // Root and our own user have all that others leave. Not so where others' root may connect, out of
  // a container.
  bool owner_in_charge = true;
  base::Duration hello_timeout = std::chrono::seconds(5);  // a connection says Hello within it
  // Sent and not received yet, of all peers; the system allows as many as open files.
  uint64_t max_undelivered = 1024;
  // Descriptors below this number are for clients; the process needs the rest.
  uint64_t max_descriptor = UINT64_MAX;
};

class Doorway {
 public:
  // Listens and starts the thread. The caller holds the daemon's lock for this address.
  static absl::StatusOr<std::unique_ptr<Doorway>> Start(const Options& options, Visitor& visitor);
  // Ends the thread, closes every connection, removes the socket.
  virtual ~Doorway() = default;

  // One message with descriptors to a peer. Never blocks: Unavailable when it is gone,
  // ResourceExhausted when it, or its user's other processes, do not read: the one that leaves most
  // unread is disconnected.
  virtual absl::Status Send(PeerId peer, const void* message, size_t bytes,
                            const std::vector<int>& fds) = 0;

  // A disconnected peer holds nothing of ours any more: its process need not be watched for it.
  // Any thread; does nothing for a peer that is connected or gone.
  virtual void Forget(PeerId peer) = 0;

  // Processes that were not let in, for want of a place or for their Hello; and those that were
  // disconnected because they do not read, or speak where they must not. Since the start; any
  // thread.
  struct Counts {
    uint64_t no_place = 0, bad_hello = 0;
    uint64_t unread = 0, spoke_again = 0;
  };
  virtual Counts counts() const = 0;
};

}  // namespace penstock::doorway
