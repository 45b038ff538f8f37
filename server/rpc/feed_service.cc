#include "common/shm/protocol.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "server/rpc/access/store_environment_check.h"
#include "server/rpc/calls/order_call.h"
#include "server/rpc/calls/unary_call.h"
#include "server/rpc/domain_to_message.h"
#include "server/rpc/message_to_domain.h"
#include "server/rpc/recipe_to_domain.h"
#include "server/rpc/services.h"

namespace penstock::rpc {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class FeedService final : public v1::FeedService::CallbackService {
 public:
  explicit FeedService(const Serving& serving)
      : controller_(serving.controller), calls_(serving.calls), gate_(serving.gate) {}

  ServerUnaryReactor* GetVersion(CallbackServerContext* context,
                                 const v1::GetVersionRequest* request,
                                 v1::GetVersionResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Version);
  }

  ServerUnaryReactor* DescribeDataset(CallbackServerContext* context,
                                      const v1::DescribeDatasetRequest* request,
                                      v1::DescribeDatasetResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Describe);
  }

  ServerUnaryReactor* DescribeSamples(CallbackServerContext* context,
                                      const v1::DescribeSamplesRequest* request,
                                      v1::DescribeSamplesResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Samples);
  }

  ServerUnaryReactor* GetProgress(CallbackServerContext* context,
                                  const v1::GetProgressRequest* request,
                                  v1::GetProgressResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Progress);
  }

  ServerUnaryReactor* ReportUndecodable(CallbackServerContext* context,
                                        const v1::ReportUndecodableRequest* request,
                                        v1::ReportUndecodableResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Undecodable);
  }

  grpc::ServerReadReactor<v1::SendOrderRequest>* SendOrder(
      CallbackServerContext* context, v1::SendOrderResponse* response) override {
    return OrderCall::Start(controller_, calls_,
                            gate_.Judge<v1::SendOrderRequest>(MakeCall(*context)), response);
  }

  ServerUnaryReactor* OpenSession(CallbackServerContext* context,
                                  const v1::OpenSessionRequest* request,
                                  v1::OpenSessionResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Open, FindTraceContext(*context));
  }

  ServerUnaryReactor* ListSlabs(CallbackServerContext* context, const v1::ListSlabsRequest* request,
                                v1::ListSlabsResponse* response) override {
    return Serve(*context, *request, response, &FeedService::List);
  }

  ServerUnaryReactor* CloseSession(CallbackServerContext* context,
                                   const v1::CloseSessionRequest* request,
                                   v1::CloseSessionResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Close);
  }

 private:
  template <typename Response>
  using Call = std::shared_ptr<UnaryCall<Response>>;

  // `more` are further arguments of the method.
  template <typename Request, typename Response, typename Method, typename... More>
  ServerUnaryReactor* Serve(const CallbackServerContext& context, const Request& request,
                            Response* response, Method method, const More&... more) {
    Gate::Judged judged = gate_.Judge<Request>(MakeCall(context, WhatOf(request)));
    const auto call = UnaryCall<Response>::Make(calls_, response, std::move(judged.audited));
    absl::Status status = judged.permit.status();
    if (status.ok()) status = call->Admit();
    if (status.ok()) status = (this->*method)(*judged.permit, request, call, more...);
    if (!status.ok()) call->Answer(status);
    return call.get();
  }

  // Makes a callback for the controller that answers `call` with the result as a message.
  template <typename T, typename Response>
  static Callback<T> MessageTo(const Call<Response>& call) {
    return [call](const absl::StatusOr<T>& answer) {
      if (!answer.ok()) return call->Answer(answer.status());
      call->Answer(MessageOf(*answer));
    };
  }

  template <typename Response>
  static Cancelled ToCancelled(const Call<Response>& call) {
    return [call] { return call->answered(); };
  }

  absl::Status Version(const Permit&, const v1::GetVersionRequest&,
                       const Call<v1::GetVersionResponse>& call) {
    v1::GetVersionResponse version;
    version.set_protocol_version(shm::kServed.newest);
    version.set_oldest_protocol_version(shm::kServed.oldest);
    version.set_daemon_version(PENSTOCK_VERSION);
    call->Answer(std::move(version));
    return absl::OkStatus();
  }

  // A daemon that reads no URLs of clients refuses them itself.
  template <typename Request>
  absl::Status CheckStores(const std::string& dataset, const Request& request) const {
    if (!controller_.reads_urls()) return absl::OkStatus();
    return CheckStoreEnvironment(dataset, {request.store_environment(), request.store_variables()});
  }

  // Each function passes the call to the controller or returns an error.
  absl::Status Describe(const Permit& permit, const v1::DescribeDatasetRequest& request,
                        const Call<v1::DescribeDatasetResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string dataset, DatasetFrom(request.dataset()));
    PENSTOCK_RETURN_IF_ERROR(CheckStores(dataset, request));
    controller_.DescribeDataset(permit,
                                {.dataset = dataset,
                                 .content_digest = request.content_digest(),
                                 .cancelled = ToCancelled(call)},
                                MessageTo<DatasetDescription>(call));
    return absl::OkStatus();
  }

  absl::Status Samples(const Permit& permit, const v1::DescribeSamplesRequest& request,
                       const Call<v1::DescribeSamplesResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string dataset, DatasetFrom(request.dataset()));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint64_t> ids, SampleIdsFrom(request));
    controller_.DescribeSamples(permit, dataset, std::move(ids), ToCancelled(call),
                                MessageTo<std::vector<SampleDescription>>(call));
    return absl::OkStatus();
  }

  absl::Status Progress(const Permit& permit, const v1::GetProgressRequest& request,
                        const Call<v1::GetProgressResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    controller_.GetProgress(permit, session_id, MessageTo<rpc::Progress>(call));
    return absl::OkStatus();
  }

  absl::Status Undecodable(const Permit& permit, const v1::ReportUndecodableRequest& request,
                           const Call<v1::ReportUndecodableResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint64_t> samples, UndecodableFrom(request));
    controller_.ReportUndecodable(permit, session_id, std::move(samples),
                                  [call](const absl::StatusOr<bool>& recorded) {
                                    if (!recorded.ok()) return call->Answer(recorded.status());
                                    call->Answer(v1::ReportUndecodableResponse());
                                  });
    return absl::OkStatus();
  }

  absl::Status Open(const Permit& permit, const v1::OpenSessionRequest& request,
                    const Call<v1::OpenSessionResponse>& call,
                    const std::optional<session::TraceContext>& trace) {
    PENSTOCK_ASSIGN_OR_RETURN(session::Request session, SessionFrom(request));
    session.trace = trace;
    PENSTOCK_RETURN_IF_ERROR(CheckStores(session.dataset_name, request));
    controller_.OpenSession(permit, std::move(session), ToCancelled(call),
                            MessageTo<session::Grant>(call));
    return absl::OkStatus();
  }

  absl::Status List(const Permit& permit, const v1::ListSlabsRequest& request,
                    const Call<v1::ListSlabsResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    controller_.ListSlabs(permit, session_id, MessageTo<std::vector<exporting::SlabFacts>>(call));
    return absl::OkStatus();
  }

  absl::Status Close(const Permit& permit, const v1::CloseSessionRequest& request,
                     const Call<v1::CloseSessionResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    controller_.CloseSession(permit, session_id, [call](const absl::StatusOr<bool>& closed) {
      // Closing is idempotent, and doesn't reveal whether a session exists.
      if (closed.ok() || absl::IsNotFound(closed.status()))
        return call->AnswerInstead(closed.status(), v1::CloseSessionResponse());
      call->Answer(closed.status());
    });
    return absl::OkStatus();
  }

  Controller& controller_;
  Calls& calls_;
  Gate& gate_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFeedService(const Serving& serving) {
  return std::make_unique<FeedService>(serving);
}

}  // namespace penstock::rpc
