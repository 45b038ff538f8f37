#include "server/rpc/half.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_interceptor.h>
#include <sys/random.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/telemetry/log.h"
#include "server/rpc/calls/calls.h"
#include "server/rpc/calls/unary_call.h"
#include "server/rpc/services.h"

namespace penstock::rpc {
namespace {

// gRPC writes only errors unless $GRPC_VERBOSITY says otherwise. They are about connections, not
// about the daemon.
void OnGrpcLog(gpr_log_func_args* said) {
  if (said->severity == GPR_LOG_SEVERITY_ERROR) {
    PENSTOCK_LOG(kWarning, "grpc_error", {"what", said->message}, {"file", said->file},
                 {"line", said->line});
  } else {
    PENSTOCK_LOG(kInfo, "grpc", {"what", said->message}, {"file", said->file},
                 {"line", said->line});
  }
}

using grpc::experimental::ExternalConnectionAcceptor;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

constexpr int kHandshakeMs = 5'000;
constexpr int kReadBytes = 2048;  // initial read buffer per connection; requests are short
// Limit for all connections of one half; idle ones are closed first.
constexpr size_t kBufferBytes = 20 << 20;

// Whether gRPC can make connections with these. For those of an ExternalConnectionAcceptor it says
// so only in its log, so this listens with them for a moment, at a name that nobody knows.
bool CanServeWith(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  uint64_t random[2] = {};
  if (::getrandom(random, sizeof(random), 0) != sizeof(random)) return false;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(
      absl::StrCat("unix-abstract:penstock-", absl::Hex(random[0]), absl::Hex(random[1])),
      credentials, &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  return server != nullptr && port != 0;
}

std::shared_ptr<grpc::ServerCredentials> ToCredentials(const TlsTexts& tls) {
  grpc::SslServerCredentialsOptions ssl(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = tls.client_ca;
  ssl.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  return grpc::SslServerCredentials(ssl);
}

absl::Status CheckCredentials(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  if (CanServeWith(credentials)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "server.admin_certificate: it cannot be used together with admin_key and admin_client_ca; "
      "check with openssl that each is PEM, and that the key is the certificate's");
}

// gRPC answers requests that it cannot read as if the method were unknown, and before our services
// see them. They are told and recorded as what they are.
class OnUnread final : public Interceptor {
 public:
  OnUnread(Gate& gate, ServerRpcInfo& call) : gate_(gate), call_(call) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS) &&
        methods->GetSendStatus().error_code() == grpc::StatusCode::UNIMPLEMENTED &&
        !call_.server_context()->IsCancelled()) {
      const absl::Status why = absl::InvalidArgumentError(
          "this request cannot be read: there is none, it has text that is not UTF-8, or it is no "
          "message of this method");
      if (gate_.NoteUnread(call_.server_context()->peer(), call_.method(), why))
        methods->ModifySendStatus(ToGrpc(why));
    }
    methods->Proceed();
  }

 private:
  Gate& gate_;
  ServerRpcInfo& call_;
};

class UnreadNoticer final : public ServerInterceptorFactoryInterface {
 public:
  explicit UnreadNoticer(Gate& gate) : gate_(gate) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* call) override {
    return new OnUnread(gate_, *call);  // gRPC deletes it
  }

 private:
  Gate& gate_;
};

// gRPC unpacks all of a message before it compares its size with the limit: a request of 1 MiB
// would take 1 GiB. So packed messages are refused by their headers, and never unpacked.
void TakeNothingPacked(grpc::ServerBuilder& builder) {
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

class GrpcHalf final : public Half {
 public:
  GrpcHalf(Controller& controller, Gate& gate, const ServerOptions& options)
      : options_(options),
        gate_(gate),
        calls_({.at_once = options.max_calls,
                .watchers = options.max_watchers,
                .answers_per_second = options.answers_per_second,
                .answers_in_a_burst = options.answers_in_a_burst,
                .answer_bytes = options.answer_bytes}),
        feed_service_(MakeFeedService({controller, calls_, gate})),
        admin_service_(MakeAdminService({controller, calls_, gate})) {}
  ~GrpcHalf() override;

  absl::Status BeginHere();
  absl::Status BeginElsewhere(const TlsTexts& tls);
  void Take(posix::Fd connection) override;
  void SetServing(bool serving) override {
    server_->GetHealthCheckService()->SetServingStatus(serving);
  }
  void End(base::Duration timeout) override;

 private:
  absl::Status Begin(grpc::ServerBuilder& builder,
                     const std::shared_ptr<grpc::ServerCredentials>& credentials);

  const ServerOptions options_;
  Gate& gate_;
  Calls calls_;
  const std::unique_ptr<grpc::Service> feed_service_;
  const std::unique_ptr<grpc::Service> admin_service_;
  std::unique_ptr<ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
};

absl::Status GrpcHalf::BeginHere() {
  grpc::ServerBuilder builder;
  builder.RegisterService(feed_service_.get());
  return Begin(builder, grpc::InsecureServerCredentials());
}

absl::Status GrpcHalf::BeginElsewhere(const TlsTexts& tls) {
  const std::shared_ptr<grpc::ServerCredentials> credentials = ToCredentials(tls);
  PENSTOCK_RETURN_IF_ERROR(CheckCredentials(credentials));
  grpc::ServerBuilder builder;
  return Begin(builder, credentials);
}

absl::Status GrpcHalf::Begin(grpc::ServerBuilder& builder,
                             const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  builder.RegisterService(admin_service_.get());
  builder.SetMaxReceiveMessageSize(options_.max_message_bytes);
  TakeNothingPacked(builder);
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> noticers;
  noticers.push_back(std::make_unique<UnreadNoticer>(gate_));
  builder.experimental().SetInterceptorCreators(std::move(noticers));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(options_.max_calls_per_connection));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  grpc::ResourceQuota quota;
  quota.Resize(kBufferBytes);
  builder.SetResourceQuota(quota);
  // Only reflection uses a blocking thread.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC did not start; its log says why");
  for (const char* const service : kServicesWithHealth)
    server_->GetHealthCheckService()->SetServingStatus(service, false);
  SetServing(false);
  return absl::OkStatus();
}

void GrpcHalf::Take(posix::Fd connection) {
  ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = connection.Release();
  connections_->HandleNewConnection(&parameters);
}

// gRPC's own shutdown also waits for clients to disconnect, which those without a call do only
// every five seconds. So wait here for calls in progress, and cut off the rest.
void GrpcHalf::End(base::Duration timeout) {
  server_->GetHealthCheckService()->Shutdown();
  calls_.AwaitNone(timeout);
  server_->Shutdown(std::chrono::system_clock::now());
}

GrpcHalf::~GrpcHalf() {
  if (server_ != nullptr) server_->Wait();
}

}  // namespace

void PrepareGrpc() {
  ::gpr_set_log_function(OnGrpcLog);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
}

absl::Status CheckTls(const TlsPaths& paths) {
  PENSTOCK_ASSIGN_OR_RETURN(const TlsTexts texts, ReadTls(paths));
  return CheckCredentials(ToCredentials(texts));
}

absl::StatusOr<std::unique_ptr<Half>> Half::Start(Controller& controller, Gate& gate,
                                                  const ServerOptions& options) {
  auto half = std::make_unique<GrpcHalf>(controller, gate, options);
  PENSTOCK_RETURN_IF_ERROR(half->BeginHere());
  return half;
}

absl::StatusOr<std::unique_ptr<Half>> Half::StartTls(Controller& controller, Gate& gate,
                                                     const ServerOptions& options,
                                                     const TlsTexts& tls) {
  auto half = std::make_unique<GrpcHalf>(controller, gate, options);
  PENSTOCK_RETURN_IF_ERROR(half->BeginElsewhere(tls));
  return half;
}

}  // namespace penstock::rpc
