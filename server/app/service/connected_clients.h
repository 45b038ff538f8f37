// The connected clients, by ticket, as the doorway reports them.
// **Thread safety**: any thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/doorway/doorway.h"

namespace penstock::app {

class ConnectedClients {
 public:
  void Add(const doorway::Peer& peer);
  void Remove(doorway::PeerId peer);
  // **Errors**: Unauthenticated if no connected process holds this ticket, or it came over another
  // process's connection.
  absl::StatusOr<doorway::Peer> Find(const rpc::Ticket& ticket) const;
  size_t size() const;

 private:
  static std::string Key(const rpc::Ticket& ticket) {
    return std::string(reinterpret_cast<const char*>(ticket.bytes), sizeof(ticket.bytes));
  }
  mutable base::Mutex mutex_;
  std::map<std::string, doorway::Peer> by_ticket_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
