// The services, made so that whoever registers them needs no gRPC header. A method is: message →
// domain type (message_to_domain.cc), one call of the controller, domain type → message. Each
// answers once, however late the controller does; a call that was cancelled is answered at once.
#pragma once

#include <memory>

#include "server/rpc/calls.h"
#include "server/rpc/controller.h"

namespace grpc {
class Service;
}

namespace penstock::rpc {

// Who is at the other end of a connection, by the kernel's word.
enum class Caller {
  kOwner,  // root, or the daemon's own user
  kOther,
};

// Controller and calls outlive the services.
std::unique_ptr<grpc::Service> MakeFeedService(Controller& controller, Calls& calls);
std::unique_ptr<grpc::Service> MakeAdminService(Controller& controller, Calls& calls,
                                                Caller caller);

}  // namespace penstock::rpc
