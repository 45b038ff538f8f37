// The callers behind gRPC's connections. gRPC tells a call only the peer address of its connection.
// That is the relay's socket, to which the relay gives a unique name that no client can choose.
//
// **Ownership**: owned by the server. **Thread safety**: any thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/base/mutex.h"
#include "common/posix/fd.h"
#include "server/rpc/access/access.h"

namespace penstock::rpc {

class Callers {
 public:
  // Registers a connection while it exists. **Requires**: `callers` outlives it.
  class Entry {
   public:
    // `place`: anything else that must live as long as the connection.
    Entry(Callers& callers, std::shared_ptr<const void> place)
        : callers_(callers), place_(std::move(place)) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (!peer_.empty()) callers_.Remove(peer_);
    }

    // Call it once, before the connection is given to gRPC. `peer`: the name that gRPC will report.
    void Is(const std::string& peer, Caller caller) {
      peer_ = peer;
      callers_.Add(peer_, std::move(caller));
    }

   private:
    Callers& callers_;
    const std::shared_ptr<const void> place_;
    std::string peer_;
  };

  // Null if there is no such connection, or it has ended. Shared by the connection's calls.
  std::shared_ptr<const Caller> Find(const std::string& peer) const {
    base::MutexLock lock(mutex_);
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? nullptr : found->second;
  }

 private:
  void Add(const std::string& peer, Caller caller) {
    auto known = std::make_shared<const Caller>(std::move(caller));
    base::MutexLock lock(mutex_);
    by_peer_[peer] = std::move(known);
  }
  void Remove(const std::string& peer) {
    base::MutexLock lock(mutex_);
    by_peer_.erase(peer);
  }

  mutable base::Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Caller>> by_peer_
      PENSTOCK_GUARDED_BY(mutex_);
};

// The name of the socket's peer as gRPC reports it to calls; empty if it has no abstract name.
std::string PeerOf(const posix::Fd& socket);

}  // namespace penstock::rpc
