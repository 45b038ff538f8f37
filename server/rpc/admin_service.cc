#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "penstock/v1/admin.grpc.pb.h"
#include "server/rpc/drain_news.h"
#include "server/rpc/index_call.h"
#include "server/rpc/message_to_domain.h"
#include "server/rpc/repeated_call.h"
#include "server/rpc/services.h"
#include "server/rpc/trace_call.h"
#include "server/rpc/unary_call.h"

namespace penstock::rpc {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr std::chrono::milliseconds kDrainLooks(200);

class AdminService final : public v1::AdminService::CallbackService {
 public:
  AdminService(Controller& controller, Calls& calls, Caller caller)
      : controller_(controller), calls_(calls), caller_(caller) {}

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
    const auto query = QuarantineQueryFrom(*request);
    const absl::Status may = calls_.MayAsk();
    if (query.ok() && may.ok()) {
      controller_.ListQuarantine(*query, AnswerOf(call));
    } else {
      call->Answer(query.ok() ? may : query.status());
    }
    return call.get();
  }

  ServerUnaryReactor* ClearQuarantine(CallbackServerContext*,
                                      const v1::ClearQuarantineRequest* request,
                                      v1::ClearQuarantineResponse* response) override {
    const auto call = UnaryCall<v1::ClearQuarantineResponse>::Make(calls_, response);
    const auto dataset = DatasetFrom(request->dataset());
    if (const absl::Status may = MayChange(dataset.status()); !may.ok()) {
      call->Answer(may);
    } else {
      controller_.ClearQuarantine(*dataset, AnswerOf(call));
    }
    return call.get();
  }

  ServerUnaryReactor* SetWorkers(CallbackServerContext*, const v1::SetWorkersRequest* request,
                                 v1::SetWorkersResponse* response) override {
    const auto call = UnaryCall<v1::SetWorkersResponse>::Make(calls_, response);
    if (const absl::Status may = MayChange(); !may.ok()) {
      call->Answer(may);
    } else {
      controller_.SetWorkers(request->count(), AnswerOf(call));
    }
    return call.get();
  }

  ServerUnaryReactor* Reload(CallbackServerContext*, const v1::ReloadRequest*,
                             v1::ReloadResponse* response) override {
    const auto call = UnaryCall<v1::ReloadResponse>::Make(calls_, response);
    if (const absl::Status may = MayChange(); !may.ok()) {
      call->Answer(may);
    } else {
      controller_.Reload(AnswerOf(call));
    }
    return call.get();
  }

  grpc::ServerWriteReactor<v1::DrainResponse>* Drain(CallbackServerContext*,
                                                     const v1::DrainRequest* request) override {
    using Call = RepeatedCall<v1::DrainResponse>;
    Call::Options options;
    options.pause = kDrainLooks;
    // The first time it is told to drain, then only asked how far it is.
    options.ask = [this, cancel = request->cancel(),
                   told = std::make_shared<bool>(false)](Callback<v1::DrainResponse> done) {
      if (std::exchange(*told, true)) return controller_.GetDraining(std::move(done));
      controller_.SetDraining(!cancel, std::move(done));
    };
    options.judge = [news = std::make_shared<DrainNews>()](const v1::DrainResponse& look) {
      if (look.done()) return Call::Then::kEnd;
      const bool is_news = news->IsNews(look, base::Now());
      return is_news ? Call::Then::kAgain : Call::Then::kSkipAgain;
    };
    return Begin(Call::Make(std::move(options)), MayChange());
  }

  grpc::ServerWriteReactor<v1::WatchStatusResponse>* WatchStatus(
      CallbackServerContext*, const v1::WatchStatusRequest* request) override {
    using Call = RepeatedCall<v1::WatchStatusResponse>;
    const auto interval = IntervalFrom(*request);
    Call::Options options;
    if (interval.ok()) options.pause = *interval;
    const auto seat = calls_.TakeSeat();
    options.ask = [this, seat = seat.value_or(nullptr)](Callback<v1::WatchStatusResponse> done) {
      controller_.LookAround(std::move(done));
    };
    return Begin(Call::Make(std::move(options)), interval.ok() ? seat.status() : interval.status());
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

  grpc::ServerWriteReactor<v1::GetTraceResponse>* GetTrace(
      CallbackServerContext*, const v1::GetTraceRequest* request) override {
    const auto call = TraceCall::Make();
    call->Begin(controller_, TraceLengthFrom(*request));
    return call.get();
  }

 private:
  template <typename Response>
  ServerUnaryReactor* Ask(Response* response, void (Controller::*method)(Callback<Response>)) {
    const auto call = UnaryCall<Response>::Make(calls_, response);
    if (const absl::Status may = calls_.MayAsk(); !may.ok()) {
      call->Answer(may);
    } else {
      (controller_.*method)(AnswerOf(call));
    }
    return call.get();
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

  // Whether this caller may change what the daemon does; `request`: whether what it says is right.
  absl::Status MayChange(const absl::Status& request = absl::OkStatus()) const {
    if (caller_ == Caller::kOwner) return request;
    return absl::PermissionDeniedError(absl::StrCat(
        "this changes what the daemon does for everybody, and is for root and the daemon's "
        "own user, ",
        ::geteuid(), "; call as one of them"));
  }

  Controller& controller_;
  Calls& calls_;
  const Caller caller_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(Controller& controller, Calls& calls,
                                                Caller caller) {
  return std::make_unique<AdminService>(controller, calls, caller);
}

}  // namespace penstock::rpc
