// Calls to daemons on other machines, over mutual TLS.
// **Thread safety**: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/ctl/admin_client.h"
#include "client/ctl/nodes/resolve.h"
#include "client/ctl/nodes/tls_folder.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"

namespace grpc {
class Channel;
}

namespace penstock::ctl {

// A channel to one node, whose certificate must be of `tls.ca` and for `endpoint.host`.
// **Requires**: the endpoint has no trouble.
std::shared_ptr<grpc::Channel> MakeNodeChannel(const NodeEndpoint& endpoint,
                                               const OperatorTls& tls);

// The daemon at NODE:PORT. If the name has several addresses, the first one. **Errors**: the name
// does not resolve, or the files of TLS are wrong.
absl::StatusOr<std::unique_ptr<AdminClient>> ConnectToNode(const std::string& address,
                                                           const std::string& tls_folder);

// What a node says about itself.
struct NodeAnswer {
  absl::Status trouble;  // why there is no answer; the rest is then empty
  v1::GetStatusResponse status = {};
  v1::ListSessionsResponse sessions = {};
};

class NodeCalls {
 public:
  static std::unique_ptr<NodeCalls> Make(std::vector<NodeEndpoint> endpoints,
                                         const OperatorTls& tls);
  virtual ~NodeCalls() = default;

  virtual const std::vector<NodeEndpoint>& endpoints() const = 0;
  // Asks all nodes at the same time. Returns an answer for each endpoint, in their order, after at
  // most the time-out.
  virtual std::vector<NodeAnswer> AskAll(base::Duration timeout) = 0;
};

}  // namespace penstock::ctl
