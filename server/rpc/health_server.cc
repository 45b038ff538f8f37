#include "server/rpc/health_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/rpc/services.h"

namespace penstock::rpc {
namespace {

constexpr int kMaxMessageBytes = 4096;
constexpr int kMaxStreams = 16;

// Takes away the plugins that gRPC adds to every server of a process. One of them is reflection,
// which would tell anyone who can connect what this daemon's services are.
class WithoutPlugins final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->clear();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(const std::string& address) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // so that a port in use is an error
  builder.SetOption(std::make_unique<WithoutPlugins>());
  // Answers all other methods with UNIMPLEMENTED. gRPC does not start a server without a service.
  auto others = std::make_unique<grpc::CallbackGenericService>();
  builder.RegisterCallbackGenericService(others.get());
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen for health checks at ", address,
                     ": the address is in use, or not this machine's; set "
                     "server.health_address to another one, or remove it"));
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(others), std::move(server)));
}

HealthServer::HealthServer(std::unique_ptr<grpc::CallbackGenericService> others,
                           std::unique_ptr<grpc::Server> server)
    : others_(std::move(others)), server_(std::move(server)) {
  for (const char* const service : kServicesWithHealth)
    server_->GetHealthCheckService()->SetServingStatus(service, false);
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
