// Who is at the other end of each connection that gRPC serves. gRPC tells a call of its connection
// no more than the address of the other end: that is the relay's, which names it so that no two are
// alike, and no client can choose it.
//
// **Ownership**: the server's. **Thread safety**: any thread.
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
  // A connection's, as long as it lasts. `callers` outlives it.
  class Entry {
   public:
    // `place`: what else lasts as long as the connection.
    Entry(Callers& callers, std::shared_ptr<const void> place)
        : callers_(callers), place_(std::move(place)) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (!peer_.empty()) callers_.Remove(peer_);
    }

    // Once, before the connection is handed to gRPC. `peer` as gRPC will name it.
    void Is(const std::string& peer, Caller caller) {
      peer_ = peer;
      callers_.Add(peer_, std::move(caller));
    }

   private:
    Callers& callers_;
    const std::shared_ptr<const void> place_;
    std::string peer_;
  };

  // Null: no connection, or one that has ended. Shared by the connection's calls.
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

// As gRPC names the other end of this socket to its calls; empty: it has no name in the abstract
// namespace.
std::string PeerOf(const posix::Fd& socket);

}  // namespace penstock::rpc
