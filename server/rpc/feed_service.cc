#include "common/shm/protocol.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "server/rpc/domain_to_message.h"
#include "server/rpc/message_to_domain.h"
#include "server/rpc/order_call.h"
#include "server/rpc/origin.h"
#include "server/rpc/services.h"
#include "server/rpc/unary_call.h"

namespace penstock::rpc {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

absl::StatusOr<Ticket> TicketOf(const CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(shm::kTicketMetadataKey);
  if (found == metadata.end()) return TicketFrom(std::nullopt);
  PENSTOCK_ASSIGN_OR_RETURN(
      Ticket ticket, TicketFrom(absl::string_view(found->second.data(), found->second.size())));
  const std::optional<Origin> origin = OriginOf(context.peer());
  if (!origin) return absl::UnauthenticatedError("whose connection this is, is not known");
  ticket.origin = *origin;
  return ticket;
}

class FeedService final : public v1::FeedService::CallbackService {
 public:
  FeedService(Controller& controller, Calls& calls) : controller_(controller), calls_(calls) {}

  ServerUnaryReactor* GetVersion(CallbackServerContext*, const v1::GetVersionRequest*,
                                 v1::GetVersionResponse* response) override {
    const auto call = UnaryCall<v1::GetVersionResponse>::Make(calls_, response);
    v1::GetVersionResponse version;
    version.set_protocol_version(shm::kServed.newest);
    version.set_oldest_protocol_version(shm::kServed.oldest);
    version.set_daemon_version(PENSTOCK_VERSION);
    call->Answer(std::move(version));
    return call.get();
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

  grpc::ServerReadReactor<v1::SendOrderRequest>* SendOrder(
      CallbackServerContext* context, v1::SendOrderResponse* response) override {
    return OrderCall::Start(controller_, calls_, TicketOf(*context), response);
  }

  ServerUnaryReactor* OpenSession(CallbackServerContext* context,
                                  const v1::OpenSessionRequest* request,
                                  v1::OpenSessionResponse* response) override {
    return Serve(*context, *request, response, &FeedService::Open);
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

  template <typename Request, typename Response>
  ServerUnaryReactor* Serve(const CallbackServerContext& context, const Request& request,
                            Response* response,
                            absl::Status (FeedService::*method)(const CallbackServerContext&,
                                                                const Request&,
                                                                const Call<Response>&)) {
    const auto call = UnaryCall<Response>::Make(calls_, response);
    absl::Status status = calls_.MayAsk();
    if (status.ok()) status = (this->*method)(context, request, call);
    if (!status.ok()) call->Answer(status);
    return call.get();
  }

  // A callback for the controller that answers `call` with the message of what it is given.
  template <typename T, typename Response>
  static Callback<T> MessageTo(const Call<Response>& call) {
    return [call](const absl::StatusOr<T>& answer) {
      if (!answer.ok()) return call->Answer(answer.status());
      call->Answer(MessageOf(*answer));
    };
  }

  // Each hands the call over to the controller, or says why not.
  absl::Status Describe(const CallbackServerContext& context,
                        const v1::DescribeDatasetRequest& request,
                        const Call<v1::DescribeDatasetResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const Ticket ticket, TicketOf(context));
    PENSTOCK_ASSIGN_OR_RETURN(const std::string dataset, DatasetFrom(request.dataset()));
    controller_.DescribeDataset(ticket,
                                {.dataset = dataset,
                                 .content_digest = request.content_digest(),
                                 .cancelled = [call] { return call->answered(); }},
                                MessageTo<DatasetDescription>(call));
    return absl::OkStatus();
  }

  absl::Status Samples(const CallbackServerContext& context,
                       const v1::DescribeSamplesRequest& request,
                       const Call<v1::DescribeSamplesResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const Ticket ticket, TicketOf(context));
    PENSTOCK_ASSIGN_OR_RETURN(const std::string dataset, DatasetFrom(request.dataset()));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint64_t> ids, SampleIdsFrom(request));
    controller_.DescribeSamples(ticket, dataset, std::move(ids),
                                MessageTo<std::vector<SampleDescription>>(call));
    return absl::OkStatus();
  }

  absl::Status Progress(const CallbackServerContext& context, const v1::GetProgressRequest& request,
                        const Call<v1::GetProgressResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const Ticket ticket, TicketOf(context));
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    controller_.GetProgress(ticket, session_id, MessageTo<rpc::Progress>(call));
    return absl::OkStatus();
  }

  absl::Status Open(const CallbackServerContext& context, const v1::OpenSessionRequest& request,
                    const Call<v1::OpenSessionResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const Ticket ticket, TicketOf(context));
    PENSTOCK_ASSIGN_OR_RETURN(SessionRequest session, SessionFrom(request, ticket));
    controller_.OpenSession(std::move(session), [call](const absl::StatusOr<SessionGrant>& grant) {
      if (!grant.ok()) return call->Answer(grant.status());
      call->Answer(MessageOf(*grant));
    });
    return absl::OkStatus();
  }

  absl::Status List(const CallbackServerContext& context, const v1::ListSlabsRequest& request,
                    const Call<v1::ListSlabsResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const Ticket ticket, TicketOf(context));
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    controller_.ListSlabs(ticket, session_id, MessageTo<std::vector<Slab>>(call));
    return absl::OkStatus();
  }

  absl::Status Close(const CallbackServerContext& context, const v1::CloseSessionRequest& request,
                     const Call<v1::CloseSessionResponse>& call) {
    PENSTOCK_ASSIGN_OR_RETURN(const Ticket ticket, TicketOf(context));
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t session_id, SessionIdFrom(request.session_id()));
    controller_.CloseSession(ticket, session_id, [call](const absl::StatusOr<bool>& closed) {
      if (!closed.ok()) return call->Answer(closed.status());
      call->Answer(v1::CloseSessionResponse());
    });
    return absl::OkStatus();
  }

  Controller& controller_;
  Calls& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFeedService(Controller& controller, Calls& calls) {
  return std::make_unique<FeedService>(controller, calls);
}

}  // namespace penstock::rpc
