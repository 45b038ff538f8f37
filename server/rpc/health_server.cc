#include "server/rpc/health_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::rpc {
namespace {

constexpr int kMaxMessageBytes = 4096;
constexpr int kMaxStreams = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(const std::string& address) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // so that a port in use is an error
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen for health checks at ", address,
                     ": the address is in use, or not this machine's; set "
                     "server.health_address to another one, or remove it"));
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(server)));
}

HealthServer::HealthServer(std::unique_ptr<grpc::Server> server) : server_(std::move(server)) {
  SetServing(false);
}

HealthServer::~HealthServer() {
  server_->GetHealthCheckService()->Shutdown();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

void HealthServer::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
}

}  // namespace penstock::rpc
