// Between the contract's words for a session and the engine's.
#pragma once

#include <vector>

#include "server/app/catalog.h"
#include "server/doorway/doorway.h"
#include "server/feed/engine.h"
#include "server/rpc/controller.h"

namespace penstock::app {

feed::OpenRequest RequestOf(const rpc::SessionRequest& from, const doorway::Peer& peer,
                            Catalog::State dataset);
rpc::SessionGrant GrantOf(const feed::Grant& grant, const feed::OpenRequest& request);
std::vector<rpc::Slab> SlabsOf(const std::vector<exporting::SlabFacts>& slabs);

void LogOpened(const feed::Grant& grant, const feed::OpenRequest& request);

}  // namespace penstock::app
