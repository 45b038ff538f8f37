#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <utility>

#include "server/rpc/acceptor.h"
#include "server/rpc/services.h"

namespace penstock::rpc {
namespace {

using grpc::experimental::ExternalConnectionAcceptor;

constexpr int kHandshakeMs = 5'000;

class GrpcServer final : public Server {
 public:
  GrpcServer(Controller& controller, const Options& options)
      : options_(options),
        feed_service_(MakeFeedService(controller, calls_)),
        admin_service_(MakeAdminService(controller, calls_)) {}

  absl::Status Begin(posix::Fd listener);
  ~GrpcServer() override;

  void SetServing(bool serving) override {
    server_->GetHealthCheckService()->SetServingStatus(serving);
  }
  uint32_t connections() const override { return acceptor_->connections(); }

 private:
  const Options options_;
  Calls calls_;
  const std::unique_ptr<grpc::Service> feed_service_;
  const std::unique_ptr<grpc::Service> admin_service_;
  std::unique_ptr<ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

absl::Status GrpcServer::Begin(posix::Fd listener) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(feed_service_.get());
  builder.RegisterService(admin_service_.get());
  builder.SetMaxReceiveMessageSize(options_.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(options_.max_calls_per_connection));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  // Reflection is the one service that waits in a thread.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  // The kernel's file modes say who may connect.
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC did not start; its log says why");
  for (const char* service : {"penstock.v1.FeedService", "penstock.v1.AdminService"}) {
    server_->GetHealthCheckService()->SetServingStatus(service, false);
  }
  SetServing(false);
  PENSTOCK_ASSIGN_OR_RETURN(
      acceptor_,
      Acceptor::Start(std::move(listener), options_.max_connections, [this](posix::Fd connection) {
        ExternalConnectionAcceptor::NewConnectionParameters parameters;
        parameters.fd = connection.Release();
        connections_->HandleNewConnection(&parameters);
      }));
  return absl::OkStatus();
}

// gRPC's own shutdown waits for clients to hang up, too, which those without a call do only every
// five seconds. Who has a call is waited for here; the rest is cut off.
GrpcServer::~GrpcServer() {
  acceptor_.reset();
  if (server_ == nullptr) return;
  server_->GetHealthCheckService()->Shutdown();
  calls_.AwaitNone(options_.shutdown_timeout);
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(posix::Fd listener, Controller& controller,
                                                      const Options& options) {
  auto server = std::make_unique<GrpcServer>(controller, options);
  PENSTOCK_RETURN_IF_ERROR(server->Begin(std::move(listener)));
  return server;
}

}  // namespace penstock::rpc
