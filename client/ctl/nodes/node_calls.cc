#include "client/ctl/nodes/node_calls.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/v1/admin.grpc.pb.h"

namespace penstock::ctl {
namespace {

constexpr std::chrono::seconds kResolveWithin(5);
constexpr int kMaxNodeAnswerBytes = 16 << 20;
constexpr int kFirstPauseMs = 500, kLongestPauseMs = 5'000;  // between attempts to connect

using Stub = v1::AdminService::Stub;

// The two calls to one node, while they are under way.
struct AskedNode {
  grpc::ClientContext status_context, sessions_context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::GetStatusResponse>> status_reader;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ListSessionsResponse>> sessions_reader;
  grpc::Status status_end, sessions_end;
};

absl::Status InWords(const grpc::Status& end) {
  if (end.ok()) return absl::OkStatus();
  if (end.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return absl::DeadlineExceededError("it does not answer in time");
  return absl::Status(static_cast<absl::StatusCode>(end.error_code()), end.error_message());
}

class GrpcNodeCalls final : public NodeCalls {
 public:
  GrpcNodeCalls(std::vector<NodeEndpoint> endpoints, const OperatorTls& tls)
      : endpoints_(std::move(endpoints)) {
    for (const NodeEndpoint& each : endpoints_)
      stubs_.push_back(each.trouble.ok() ? v1::AdminService::NewStub(MakeNodeChannel(each, tls))
                                         : nullptr);
  }

  const std::vector<NodeEndpoint>& endpoints() const override { return endpoints_; }
  std::vector<NodeAnswer> AskAll(base::Duration timeout) override;

 private:
  const std::vector<NodeEndpoint> endpoints_;
  std::vector<std::unique_ptr<Stub>> stubs_;  // null: the endpoint has trouble
};

void Begin(Stub& stub, std::chrono::system_clock::time_point deadline, grpc::CompletionQueue& queue,
           AskedNode& asked, NodeAnswer& answer) {
  asked.status_context.set_deadline(deadline);
  asked.sessions_context.set_deadline(deadline);
  asked.status_reader = stub.AsyncGetStatus(&asked.status_context, {}, &queue);
  asked.sessions_reader = stub.AsyncListSessions(&asked.sessions_context, {}, &queue);
  asked.status_reader->Finish(&answer.status, &asked.status_end, nullptr);
  asked.sessions_reader->Finish(&answer.sessions, &asked.sessions_end, nullptr);
}

std::vector<NodeAnswer> GrpcNodeCalls::AskAll(base::Duration timeout) {
  const auto deadline = std::chrono::system_clock::now() +
                        std::chrono::duration_cast<std::chrono::system_clock::duration>(timeout);
  std::vector<NodeAnswer> answers(endpoints_.size());
  std::vector<AskedNode> asked(endpoints_.size());
  grpc::CompletionQueue queue;
  size_t under_way = 0;
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    answers[i].trouble = endpoints_[i].trouble;
    if (stubs_[i] == nullptr) continue;
    Begin(*stubs_[i], deadline, queue, asked[i], answers[i]);
    under_way += 2;
  }
  // Each ends by its deadline at the latest.
  void* tag = nullptr;
  for (bool ok = false; under_way > 0 && queue.Next(&tag, &ok);) --under_way;
  queue.Shutdown();
  for (bool ok = false; queue.Next(&tag, &ok);) {
  }
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    if (stubs_[i] == nullptr) continue;
    answers[i].trouble = InWords(asked[i].status_end);
    if (answers[i].trouble.ok()) answers[i].trouble = InWords(asked[i].sessions_end);
    if (!answers[i].trouble.ok()) answers[i] = {.trouble = answers[i].trouble};
  }
  return answers;
}

// A daemon that refuses a certificate closes the connection, as one that ends does.
constexpr char kAdvice[] =
    "check that it runs and serves this port, that tls.key belongs to tls.crt, and that each side "
    "trusts the other's certificate, which also expires; its log names what it refuses";

}  // namespace

std::shared_ptr<grpc::Channel> MakeNodeChannel(const NodeEndpoint& endpoint,
                                               const OperatorTls& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxNodeAnswerBytes);
  // The target is an address; the certificate is for the name.
  arguments.SetSslTargetNameOverride(endpoint.host);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPauseMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestPauseMs);
  return grpc::CreateCustomChannel(endpoint.target,
                                   grpc::SslCredentials({.pem_root_certs = tls.ca,
                                                         .pem_private_key = tls.key,
                                                         .pem_cert_chain = tls.certificate}),
                                   arguments);
}

absl::StatusOr<std::unique_ptr<AdminClient>> ConnectToNode(const std::string& address,
                                                           const std::string& tls_folder) {
  PENSTOCK_ASSIGN_OR_RETURN(const NodeAddress node, ParseNodeAddress(address));
  PENSTOCK_ASSIGN_OR_RETURN(const OperatorTls tls, ReadOperatorTls(tls_folder));
  const NodeEndpoint endpoint = Resolve({node}, kResolveWithin).front();
  if (!endpoint.trouble.ok()) return base::Annotate(endpoint.trouble, address);
  return AdminClient::Make(MakeNodeChannel(endpoint, tls), endpoint.shown, kAdvice);
}

std::unique_ptr<NodeCalls> NodeCalls::Make(std::vector<NodeEndpoint> endpoints,
                                           const OperatorTls& tls) {
  return std::make_unique<GrpcNodeCalls>(std::move(endpoints), tls);
}

}  // namespace penstock::ctl
