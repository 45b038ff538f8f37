#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/posix/socket.h"
#include "server/rpc/acceptor.h"
#include "server/rpc/health_server.h"
#include "server/rpc/services.h"

namespace penstock::rpc {
namespace {

using grpc::experimental::ExternalConnectionAcceptor;

constexpr int kHandshakeMs = 5'000;

// What serves the connections of one kind of caller: whoever is at the other end of a call is known
// by the half that it came to, and by nothing that it says.
class Half {
 public:
  Half(Controller& controller, Caller caller)
      : feed_service_(MakeFeedService(controller, calls_)),
        admin_service_(MakeAdminService(controller, calls_, caller)) {}
  ~Half();

  absl::Status Begin(const Options& options);
  void Take(posix::Fd connection);
  void SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }
  void End(base::Duration timeout);

 private:
  Calls calls_;
  const std::unique_ptr<grpc::Service> feed_service_;
  const std::unique_ptr<grpc::Service> admin_service_;
  std::unique_ptr<ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
};

absl::Status Half::Begin(const Options& options) {
  grpc::ServerBuilder builder;
  builder.RegisterService(feed_service_.get());
  builder.RegisterService(admin_service_.get());
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(options.max_calls_per_connection));
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
  for (const char* service : {"penstock.v1.FeedService", "penstock.v1.AdminService"})
    server_->GetHealthCheckService()->SetServingStatus(service, false);
  SetServing(false);
  return absl::OkStatus();
}

void Half::Take(posix::Fd connection) {
  ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = connection.Release();
  connections_->HandleNewConnection(&parameters);
}

// gRPC's own shutdown waits for clients to hang up, too, which those without a call do only every
// five seconds. Who has a call is waited for here; the rest is cut off.
void Half::End(base::Duration timeout) {
  if (server_ == nullptr) return;
  server_->GetHealthCheckService()->Shutdown();
  calls_.AwaitNone(timeout);
  server_->Shutdown(std::chrono::system_clock::now());
}

Half::~Half() {
  if (server_ != nullptr) server_->Wait();
}

class GrpcServer final : public Server {
 public:
  GrpcServer(Controller& controller, const Options& options)
      : options_(options),
        others_(controller, Caller::kOther),
        owners_(controller, Caller::kOwner) {}
  ~GrpcServer() override;

  absl::Status Begin(posix::Fd listener);
  void SetServing(bool serving) override;
  uint32_t connections() const override { return acceptor_->connections(); }

 private:
  Half& HalfOf(const posix::Fd& connection);

  const Options options_;
  std::unique_ptr<HealthServer> health_;  // where it was asked for
  Half others_, owners_;
  std::unique_ptr<Acceptor> acceptor_;
};

absl::Status GrpcServer::Begin(posix::Fd listener) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  if (!options_.health_address.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(health_, HealthServer::Start(options_.health_address));
  }
  PENSTOCK_RETURN_IF_ERROR(others_.Begin(options_));
  PENSTOCK_RETURN_IF_ERROR(owners_.Begin(options_));
  PENSTOCK_ASSIGN_OR_RETURN(
      acceptor_,
      Acceptor::Start(std::move(listener), options_.max_connections, [this](posix::Fd connection) {
        HalfOf(connection).Take(std::move(connection));
      }));
  return absl::OkStatus();
}

// As the connection was made: what its process becomes later, or whom it hands it to, changes
// nothing.
Half& GrpcServer::HalfOf(const posix::Fd& connection) {
  const auto peer = posix::PeerCredentials(connection);
  const bool is_owner = peer.ok() && (peer->uid == 0 || peer->uid == ::geteuid());
  return is_owner ? owners_ : others_;
}

void GrpcServer::SetServing(bool serving) {
  others_.SetServing(serving);
  owners_.SetServing(serving);
  if (health_ != nullptr) health_->SetServing(serving);
}

GrpcServer::~GrpcServer() {
  acceptor_.reset();
  const base::TimePoint deadline = base::SteadyClock().Now() + options_.shutdown_timeout;
  others_.End(options_.shutdown_timeout);
  owners_.End(std::max(deadline - base::SteadyClock().Now(), base::Duration::zero()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(posix::Fd listener, Controller& controller,
                                                      const Options& options) {
  auto server = std::make_unique<GrpcServer>(controller, options);
  PENSTOCK_RETURN_IF_ERROR(server->Begin(std::move(listener)));
  return server;
}

}  // namespace penstock::rpc
