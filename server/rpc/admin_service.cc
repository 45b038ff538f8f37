#include "penstock/v1/admin.grpc.pb.h"
#include "server/rpc/index_call.h"
#include "server/rpc/message_to_domain.h"
#include "server/rpc/services.h"
#include "server/rpc/unary_call.h"

namespace penstock::rpc {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(Controller& controller, Calls& calls) : controller_(controller), calls_(calls) {}

  ServerUnaryReactor* GetStatus(CallbackServerContext*, const v1::GetStatusRequest*,
                                v1::GetStatusResponse* response) override {
    return Ask(response, &Controller::GetStatus);
  }

  ServerUnaryReactor* ListSessions(CallbackServerContext*, const v1::ListSessionsRequest*,
                                   v1::ListSessionsResponse* response) override {
    return Ask(response, &Controller::ListSessions);
  }

  ServerUnaryReactor* ListWorkers(CallbackServerContext*, const v1::ListWorkersRequest*,
                                  v1::ListWorkersResponse* response) override {
    return Ask(response, &Controller::ListWorkers);
  }

  ServerUnaryReactor* ListDatasets(CallbackServerContext*, const v1::ListDatasetsRequest*,
                                   v1::ListDatasetsResponse* response) override {
    return Ask(response, &Controller::ListDatasets);
  }

  ServerUnaryReactor* ListQuarantine(CallbackServerContext*,
                                     const v1::ListQuarantineRequest* request,
                                     v1::ListQuarantineResponse* response) override {
    const auto call = UnaryCall<v1::ListQuarantineResponse>::Make(calls_, response);
    if (const auto query = QuarantineQueryFrom(*request); query.ok()) {
      controller_.ListQuarantine(*query, AnswerOf(call));
    } else {
      call->Answer(query.status());
    }
    return call.get();
  }

  ServerUnaryReactor* ClearQuarantine(CallbackServerContext*,
                                      const v1::ClearQuarantineRequest* request,
                                      v1::ClearQuarantineResponse* response) override {
    return AskAbout(DatasetFrom(request->dataset()), response, &Controller::ClearQuarantine);
  }

  grpc::ServerWriteReactor<v1::IndexDatasetResponse>* IndexDataset(
      CallbackServerContext*, const v1::IndexDatasetRequest* request) override {
    const auto call = IndexCall::Make(calls_);
    const auto dataset = DatasetFrom(request->dataset());
    if (!dataset.ok()) {
      call->Progress(dataset.status());
      return call.get();
    }
    controller_.IndexDataset(
        *dataset, [call] { return call->cancelled(); },
        [call](const absl::StatusOr<IndexProgress>& progress) { call->Progress(progress); });
    return call.get();
  }

 private:
  template <typename Response>
  ServerUnaryReactor* Ask(Response* response, void (Controller::*method)(Callback<Response>)) {
    const auto call = UnaryCall<Response>::Make(calls_, response);
    (controller_.*method)(AnswerOf(call));
    return call.get();
  }

  template <typename Response>
  ServerUnaryReactor* AskAbout(const absl::StatusOr<std::string>& dataset, Response* response,
                               void (Controller::*method)(const std::string&, Callback<Response>)) {
    const auto call = UnaryCall<Response>::Make(calls_, response);
    if (dataset.ok()) {
      (controller_.*method)(*dataset, AnswerOf(call));
    } else {
      call->Answer(dataset.status());
    }
    return call.get();
  }

  Controller& controller_;
  Calls& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(Controller& controller, Calls& calls) {
  return std::make_unique<AdminService>(controller, calls);
}

}  // namespace penstock::rpc
