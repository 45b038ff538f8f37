#include "server/app/service/connected_clients.h"

namespace penstock::app {

void ConnectedClients::Add(const doorway::Peer& peer) {
  base::MutexLock lock(mutex_);
  by_ticket_[Key(peer.ticket)] = peer;
}

void ConnectedClients::Remove(doorway::PeerId peer) {
  base::MutexLock lock(mutex_);
  std::erase_if(by_ticket_, [peer](const auto& entry) { return entry.second.id == peer; });
}

absl::StatusOr<doorway::Peer> ConnectedClients::Find(const rpc::Ticket& ticket) const {
  base::MutexLock lock(mutex_);
  const auto found = by_ticket_.find(Key(ticket));
  if (found == by_ticket_.end())
    return absl::UnauthenticatedError(
        "this ticket is not one of a connected process; connect through the doorway first");
  const doorway::Peer& peer = found->second;
  const rpc::Origin& origin = ticket.origin;
  const bool other_process = origin.pid != 0 && peer.pid != 0 && origin.pid != peer.pid;
  if (origin.user != peer.uid || other_process)
    return absl::UnauthenticatedError(
        "this ticket was given to another user or process; connect through the doorway yourself");
  return peer;
}

size_t ConnectedClients::size() const {
  base::MutexLock lock(mutex_);
  return by_ticket_.size();
}

}  // namespace penstock::app
