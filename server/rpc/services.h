// The services, made so that whoever registers them needs no gRPC header. A method is: the gate's
// permit, message → domain type (message_to_domain.cc), one call of the controller, domain type →
// message. Each
// answers once, however late the controller does; a call that was cancelled is answered at once.
#pragma once

#include <memory>

#include "server/rpc/access/gate.h"
#include "server/rpc/calls/calls.h"
#include "server/rpc/controller.h"

namespace grpc {
class Service;
}

namespace penstock::rpc {

// What the services of one half of the server work with; all of it outlives them.
struct Serving {
  Controller& controller;
  Calls& calls;
  Gate& gate;
};

std::unique_ptr<grpc::Service> MakeFeedService(const Serving& serving);
std::unique_ptr<grpc::Service> MakeAdminService(const Serving& serving);

}  // namespace penstock::rpc
