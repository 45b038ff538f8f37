// The doorway: a Unix SEQPACKET socket at "<address>.door". Through it the kernel identifies
// clients, passes descriptors to them, and reports their deaths.
//
// **Thread safety**: one thread ("doorway") runs it. Send, Forget and Close may be called from any
// thread.
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
#include "server/doorway/role.h"
#include "server/rpc/controller.h"

namespace penstock::doorway {

using PeerId = base::StrongId<struct PeerTag>;

// A connected process, as identified by the kernel.
struct Peer {
  PeerId id = {};
  Role role = Role::kClient;
  rpc::Ticket ticket = {};  // zeros unless it is a client
  MakerClaim maker = {};    // of a host or a Python worker
  // A pidfd of a host or a Python worker; null for a client. Shared by the copies of this struct.
  std::shared_ptr<const posix::Fd> process = {};
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};
  std::string client = {};  // the client's own program name and version; printable
};

// Decides about hosts and Python workers, and is notified of arrivals and departures. Called on the
// doorway's thread; must not block.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // Whether a dataset asks for this host or Python worker; an error refuses it in these words. A
  // peer that may enter does not always arrive. Not called for clients.
  virtual absl::Status MayEnter(const Peer& peer) = 0;
  // A client is welcomed afterwards, so that its ticket is known when it is used. A host or a
  // Python worker was welcomed before, so that what is sent to it from now on comes after Welcome.
  virtual void OnArrived(const Peer& peer) = 0;
  // The peer's socket is closed. Its process may live on and hold slots.
  virtual void OnDisconnected(PeerId peer) = 0;
  // The peer's process is gone, or Forget was called for the peer: everything that it held is free.
  // Called exactly once, after OnDisconnected.
  virtual void OnGone(PeerId peer) = 0;
};

struct DoorwayOptions {
  std::string path = {};  // path of the socket
  std::optional<gid_t> group =
      {};  // may connect in addition to our own user; nullopt: our own group
  // Most connections at once. Further ones, and a user's connections beyond its share, are refused
  // with a message.
  uint32_t max_peers = 1024;
  // Whether root and our own user may have everything that others leave. Set it to false if a
  // container's root may connect.
  bool owner_in_charge = true;
  // The user whose hosts and Python workers may enter; nullopt: nobody's, as in a system daemon.
  std::optional<uid_t> makers = {};
  base::Duration handshake_timeout = std::chrono::seconds(5);  // limit for the handshake
  // Most descriptors sent and not yet received, over all peers. The system allows as many as the
  // limit of open files.
  uint64_t max_undelivered = 1024;
  // Clients' connections must have descriptor numbers below this; the process needs the rest.
  uint64_t max_descriptor = UINT64_MAX;
};

class Doorway {
 public:
  // Listens and starts the thread. **Requires**: the caller holds the daemon's lock for this
  // address.
  static absl::StatusOr<std::unique_ptr<Doorway>> Start(const DoorwayOptions& options,
                                                        Visitor& visitor);
  // Stops the thread, closes every connection, and removes the socket.
  virtual ~Doorway() = default;

  // Sends a peer one message with descriptors. Never blocks.
  //
  // **Errors**: Unavailable if the peer is gone; ResourceExhausted if the peer, or other processes
  // of its user, do not read. The process with the most unread messages is then disconnected.
  virtual absl::Status Send(PeerId peer, const void* message, size_t bytes,
                            const std::vector<int>& fds) = 0;

  // Tells the doorway that a disconnected peer no longer holds memory of ours, so that its process
  // need not be watched any longer. Does nothing for a peer that is connected or gone. Any thread.
  virtual void Forget(PeerId peer) = 0;

  // Disconnects a peer, soon. Its process is still watched until it is gone or forgotten. Does
  // nothing for a peer that is not connected. Any thread.
  virtual void Close(PeerId peer) = 0;

  // Counts since the start: processes refused because no place was free (`no_place`) or because of
  // their handshake (`bad_handshake`); peers disconnected because they do not read (`unread`) or
  // sent a second message (`spoke_again`). Any thread.
  struct Counts {
    uint64_t no_place = 0, bad_handshake = 0;
    uint64_t unread = 0, spoke_again = 0;
  };
  virtual Counts counts() const = 0;
};

}  // namespace penstock::doorway
