#include <climits>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "penstock/v1/admin.grpc.pb.h"
#include "server/rpc/access/store_environment_check.h"
#include "server/rpc/calls/drain_news.h"
#include "server/rpc/calls/index_call.h"
#include "server/rpc/calls/repeated_call.h"
#include "server/rpc/calls/trace_call.h"
#include "server/rpc/calls/unary_call.h"
#include "server/rpc/message_to_domain.h"
#include "server/rpc/services.h"

namespace penstock::rpc {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr std::chrono::milliseconds kDrainLooks(200);

absl::StatusOr<MeantFile> MeantFileFrom(const v1::ReloadRequest& message) {
  if (message.file().size() >= PATH_MAX)
    return absl::InvalidArgumentError(absl::StrCat("file: got a path of ", message.file().size(),
                                                   " bytes, wanted at most ", PATH_MAX - 1));
  return MeantFile{
      .path = message.file(), .device = message.file_device(), .inode = message.file_inode()};
}

class AdminService final : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(const Serving& serving)
      : controller_(serving.controller), calls_(serving.calls), gate_(serving.gate) {}

  ServerUnaryReactor* GetStatus(CallbackServerContext* context, const v1::GetStatusRequest* request,
                                v1::GetStatusResponse* response) override {
    return Ask(*context, *request, response, &Controller::GetStatus);
  }

  ServerUnaryReactor* ListSessions(CallbackServerContext* context,
                                   const v1::ListSessionsRequest* request,
                                   v1::ListSessionsResponse* response) override {
    return Ask(*context, *request, response, &Controller::ListSessions);
  }

  ServerUnaryReactor* ListWorkers(CallbackServerContext* context,
                                  const v1::ListWorkersRequest* request,
                                  v1::ListWorkersResponse* response) override {
    return Ask(*context, *request, response, &Controller::ListWorkers);
  }

  ServerUnaryReactor* ListDatasets(CallbackServerContext* context,
                                   const v1::ListDatasetsRequest* request,
                                   v1::ListDatasetsResponse* response) override {
    return Ask(*context, *request, response,
               request->look() ? &Controller::LookAtDatasets : &Controller::ListDatasets);
  }

  ServerUnaryReactor* DigestDataset(CallbackServerContext* context,
                                    const v1::DigestDatasetRequest* request,
                                    v1::DigestDatasetResponse* response) override {
    return ServeCall(*context, *request, response, [&](const Permit& permit, const auto& call) {
      PENSTOCK_ASSIGN_OR_RETURN(const std::string dataset, DatasetFrom(request->dataset()));
      controller_.DigestDataset(permit,
                                {.dataset = dataset,
                                 .content_digest = true,
                                 .cancelled = [call] { return call->answered(); }},
                                [call](const absl::StatusOr<DatasetDescription>& description) {
                                  if (!description.ok()) return call->Answer(description.status());
                                  v1::DigestDatasetResponse digest;
                                  digest.set_content_digest(description->content_digest);
                                  digest.set_samples(description->samples);
                                  call->Answer(std::move(digest));
                                });
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* ListQuarantine(CallbackServerContext* context,
                                     const v1::ListQuarantineRequest* request,
                                     v1::ListQuarantineResponse* response) override {
    return Serve(*context, *request, response, [&](const Permit& permit, auto done) {
      PENSTOCK_ASSIGN_OR_RETURN(const QuarantineQuery query, QuarantineQueryFrom(*request));
      controller_.ListQuarantine(permit, query, std::move(done));
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* ClearQuarantine(CallbackServerContext* context,
                                      const v1::ClearQuarantineRequest* request,
                                      v1::ClearQuarantineResponse* response) override {
    return Serve(*context, *request, response, [&](const Permit& permit, auto done) {
      PENSTOCK_ASSIGN_OR_RETURN(const std::string dataset, DatasetFrom(request->dataset()));
      controller_.ClearQuarantine(permit, dataset, std::move(done));
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* SetWorkers(CallbackServerContext* context,
                                 const v1::SetWorkersRequest* request,
                                 v1::SetWorkersResponse* response) override {
    return Serve(*context, *request, response, [&](const Permit& permit, auto done) {
      controller_.SetWorkers(permit, request->count(), std::move(done));
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* Reload(CallbackServerContext* context, const v1::ReloadRequest* request,
                             v1::ReloadResponse* response) override {
    return Serve(*context, *request, response, [&](const Permit& permit, auto done) {
      PENSTOCK_ASSIGN_OR_RETURN(const MeantFile file, MeantFileFrom(*request));
      controller_.Reload(permit, file, std::move(done));
      return absl::OkStatus();
    });
  }

  grpc::ServerWriteReactor<v1::DrainResponse>* Drain(CallbackServerContext* context,
                                                     const v1::DrainRequest* request) override {
    using Call = RepeatedCall<v1::DrainResponse>;
    Gate::Judged judged = gate_.Judge<v1::DrainRequest>(MakeCall(*context, WhatOf(*request)));
    Call::Options options = {.audited = std::move(judged.audited), .pause = kDrainLooks};
    // The first call starts the drain; later ones only ask for its progress.
    if (judged.permit.ok())
      options.ask = [this, cancel = request->cancel(), permit = *judged.permit,
                     answered = std::make_shared<bool>(false)](Callback<v1::DrainResponse> done) {
        if (std::exchange(*answered, true)) return controller_.GetDraining(permit, std::move(done));
        controller_.SetDraining(permit, !cancel, std::move(done));
      };
    options.judge = [news = std::make_shared<DrainNews>()](const v1::DrainResponse& look) {
      if (look.done()) return Call::Then::kEnd;
      const bool is_news = news->IsNews(look, base::Now());
      return is_news ? Call::Then::kAgain : Call::Then::kSkipAgain;
    };
    return Begin(Call::Make(std::move(options)), judged.permit.status());
  }

  grpc::ServerWriteReactor<v1::WatchStatusResponse>* WatchStatus(
      CallbackServerContext* context, const v1::WatchStatusRequest* request) override {
    using Call = RepeatedCall<v1::WatchStatusResponse>;
    Gate::Judged judged = gate_.Judge<v1::WatchStatusRequest>(MakeCall(*context));
    const uint32_t user = judged.audited.user();
    Call::Options options = {.audited = std::move(judged.audited)};
    absl::Status may = judged.permit.status();
    const auto interval = IntervalFrom(*request);
    if (may.ok()) may = interval.status();
    if (!may.ok()) return Begin(Call::Make(std::move(options)), may);
    options.pause = *interval;
    const auto reservation = calls_.TakeWatch(user);
    options.ask = [this, permit = *judged.permit, reservation = reservation.value_or(nullptr)](
                      Callback<v1::WatchStatusResponse> done) {
      controller_.LookAround(permit, std::move(done));
    };
    return Begin(Call::Make(std::move(options)), reservation.status());
  }

  grpc::ServerWriteReactor<v1::IndexDatasetResponse>* IndexDataset(
      CallbackServerContext* context, const v1::IndexDatasetRequest* request) override {
    Gate::Judged judged =
        gate_.Judge<v1::IndexDatasetRequest>(MakeCall(*context, WhatOf(*request)));
    const auto call = IndexCall::Make(calls_, std::move(judged.audited));
    const auto dataset = DatasetFrom(request->dataset());
    absl::Status may = judged.permit.status();
    if (may.ok()) may = dataset.status();
    if (may.ok()) may = call->Admit();
    if (may.ok() && request->fetch() && request->export_indexes())
      may = absl::InvalidArgumentError("fetch and export_indexes exclude each other");
    if (may.ok() && (request->fetch() || request->export_indexes()))
      may = CheckStoreEnvironment(*dataset,
                                  {request->store_environment(), request->store_variables()});
    if (!may.ok()) {
      call->Progress(may);
      return call.get();
    }
    controller_.IndexDataset(
        *judged.permit,
        {.dataset = *dataset,
         .fetch = request->fetch(),
         .export_indexes = request->export_indexes()},
        [call] { return call->cancelled(); },
        [call](const absl::StatusOr<IndexProgress>& progress) { call->Progress(progress); });
    return call.get();
  }

  grpc::ServerWriteReactor<v1::GetTraceResponse>* GetTrace(
      CallbackServerContext* context, const v1::GetTraceRequest* request) override {
    Gate::Judged judged = gate_.Judge<v1::GetTraceRequest>(MakeCall(*context));
    const uint32_t user = judged.audited.user();
    const auto call = TraceCall::Make(std::move(judged.audited));
    if (judged.permit.ok()) {
      const auto reservation = calls_.TakeTrace(user);
      if (reservation.ok())
        call->Keep(*reservation);
      else
        judged.permit = reservation.status();
    }
    call->Begin(controller_, judged.permit, TraceLengthFrom(*request));
    return call.get();
  }

 private:
  // Calls `method`, which passes the call to the controller or returns an error.
  template <typename Request, typename Response, typename Method>
  ServerUnaryReactor* Serve(const CallbackServerContext& context, const Request& request,
                            Response* response, const Method& method) {
    return ServeCall(context, request, response, [&](const Permit& permit, const auto& call) {
      return method(permit, AnswerOf(call));
    });
  }

  // The same for methods that also need the call.
  template <typename Request, typename Response, typename Method>
  ServerUnaryReactor* ServeCall(const CallbackServerContext& context, const Request& request,
                                Response* response, const Method& method) {
    Gate::Judged judged = gate_.Judge<Request>(MakeCall(context, WhatOf(request)));
    const auto call = UnaryCall<Response>::Make(calls_, response, std::move(judged.audited));
    absl::Status status = judged.permit.status();
    if (status.ok()) status = call->Admit();
    if (status.ok()) status = method(*judged.permit, call);
    if (!status.ok()) call->Answer(status);
    return call.get();
  }

  template <typename Request, typename Response>
  ServerUnaryReactor* Ask(const CallbackServerContext& context, const Request& request,
                          Response* response,
                          void (Controller::*method)(const Permit&, Callback<Response>)) {
    return Serve(context, request, response, [&](const Permit& permit, auto done) {
      (controller_.*method)(permit, std::move(done));
      return absl::OkStatus();
    });
  }

  template <typename Response>
  static grpc::ServerWriteReactor<Response>* Begin(std::shared_ptr<RepeatedCall<Response>> call,
                                                   const absl::Status& may) {
    if (may.ok()) {
      call->Begin();
    } else {
      call->Refuse(may);
    }
    return call.get();
  }

  Controller& controller_;
  Calls& calls_;
  Gate& gate_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const Serving& serving) {
  return std::make_unique<AdminService>(serving);
}

}  // namespace penstock::rpc
