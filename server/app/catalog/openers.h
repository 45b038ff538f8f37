// Makes the catalogue's Opener for a doorway peer or a call's permit.
#pragma once

#include "server/app/catalog/catalog.h"
#include "server/doorway/doorway.h"
#include "server/rpc/access/access.h"
#include "server/session/asked_by.h"

namespace penstock::app {

// A trainer is never an operator, wherever it connects from.
inline Opener ToOpener(const doorway::Peer& peer) {
  Opener opener{.uid = peer.uid, .groups = peer.groups};
  opener.groups.push_back(peer.gid);
  return opener;
}

inline Opener ToOpener(const rpc::Permit& permit) {
  const rpc::Caller& caller = permit.caller();
  Opener opener{.uid = caller.uid, .groups = caller.groups, .is_operator = permit.is_operator()};
  opener.groups.push_back(caller.gid);
  return opener;
}

inline session::AskedBy ToAskedBy(const rpc::Permit& permit) {
  return {.user = permit.caller().uid, .pid = permit.caller().pid};
}

}  // namespace penstock::app
