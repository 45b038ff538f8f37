// Answers gRPC health checks over TCP, for probes that cannot reach a Unix socket: for the whole
// daemon ("") and for each of its services by name. It serves nothing else, reflection included:
// anyone who can connect learns only whether the daemon serves.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"

namespace grpc {
class CallbackGenericService;
class Server;
}  // namespace grpc

namespace penstock::rpc {

class HealthServer {
 public:
  // `address`: as for posix::ParseTcpAddress. **Errors**: FailedPrecondition if it is in use or not
  // local.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(const std::string& address);
  ~HealthServer();

  void SetServing(bool serving);

 private:
  HealthServer(std::unique_ptr<grpc::CallbackGenericService> others,
               std::unique_ptr<grpc::Server> server);

  const std::unique_ptr<grpc::CallbackGenericService> others_;  // outlives the server
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace penstock::rpc
