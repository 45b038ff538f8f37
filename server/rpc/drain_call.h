// One Drain call: says what is left until nothing is.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "penstock/v1/admin.pb.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

// `may`: whether this caller may; the call is refused with it otherwise. Owned by gRPC.
grpc::ServerWriteReactor<v1::DrainResponse>* BeginDrain(Controller& controller,
                                                        const v1::DrainRequest& request,
                                                        const absl::Status& may);

}  // namespace penstock::rpc
