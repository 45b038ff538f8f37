// Turns the names of nodes into addresses.
// **Thread safety**: any thread.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/nodes/node_address.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::ctl {

// One daemon to ask.
struct NodeEndpoint {
  std::string shown;     // for people: as in the list, or the address and its name
  std::string target;    // for gRPC: ipv4:10.0.0.3:7070
  std::string host;      // what its certificate must be for
  absl::Status trouble;  // why there is nothing to ask: the name does not resolve
};

// Resolves all names at the same time. A name gives an endpoint for each of its addresses, or one
// with its trouble. At most kMostNodes; further ones are one endpoint that says so.
std::vector<NodeEndpoint> Resolve(const std::vector<NodeAddress>& nodes, base::Duration timeout);

}  // namespace penstock::ctl
