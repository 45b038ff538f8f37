// Creates the services, so that the code that registers them needs no gRPC headers. Each method
// gets the gate's permit, converts the message (message_to_domain.cc), calls the controller once,
// and converts the result. It answers exactly once, however late the controller does; a cancelled
// call is answered at once.
#pragma once

#include <memory>

#include "server/rpc/access/gate.h"
#include "server/rpc/calls/calls.h"
#include "server/rpc/controller.h"

namespace grpc {
class Service;
}

namespace penstock::rpc {

// The services about which probes may ask, besides the whole daemon ("").
inline constexpr const char* kServicesWithHealth[] = {"penstock.v1.FeedService",
                                                      "penstock.v1.AdminService"};

// What the services of one half of the server use. **Requires**: all of it outlives them.
struct Serving {
  Controller& controller;
  Calls& calls;
  Gate& gate;
};

std::unique_ptr<grpc::Service> MakeFeedService(const Serving& serving);
std::unique_ptr<grpc::Service> MakeAdminService(const Serving& serving);

}  // namespace penstock::rpc
