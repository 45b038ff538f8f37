#include "client/ctl/admin_client.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/posix/socket.h"
#include "common/shm/operators_socket.h"
#include "penstock/v1/admin.grpc.pb.h"

namespace penstock::ctl {
namespace {

constexpr std::chrono::hours kIndexPatience(24);
constexpr std::chrono::seconds kTracePatience(60);  // to transfer it
constexpr int kMaxAnswerBytes = 256 << 20;

class GrpcAdminClient final : public AdminClient {
 public:
  GrpcAdminClient(const std::shared_ptr<grpc::Channel>& channel, const std::string& address,
                  std::string advice)
      : address_(address),
        advice_(std::move(advice)),
        channel_(channel),
        stub_(v1::AdminService::NewStub(channel)) {}

  absl::StatusOr<v1::GetStatusResponse> GetStatus() override {
    return Call(&v1::AdminService::Stub::GetStatus, v1::GetStatusRequest());
  }
  absl::StatusOr<v1::ListSessionsResponse> ListSessions() override {
    return Call(&v1::AdminService::Stub::ListSessions, v1::ListSessionsRequest());
  }
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers() override {
    return Call(&v1::AdminService::Stub::ListWorkers, v1::ListWorkersRequest());
  }
  absl::StatusOr<v1::ListDatasetsResponse> ListDatasets() override {
    return Call(&v1::AdminService::Stub::ListDatasets, v1::ListDatasetsRequest());
  }
  absl::StatusOr<v1::ListDatasetsResponse> LookAtDatasets() override {
    v1::ListDatasetsRequest request;
    request.set_look(true);
    return Call(&v1::AdminService::Stub::ListDatasets, request);
  }
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(const std::string& dataset) override {
    v1::ListQuarantineRequest request;
    request.set_dataset(dataset);
    v1::ListQuarantineResponse all;
    do {
      PENSTOCK_ASSIGN_OR_RETURN(v1::ListQuarantineResponse page,
                                Call(&v1::AdminService::Stub::ListQuarantine, request));
      all.MergeFrom(page);
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    all.clear_next_page_token();
    return all;
  }
  absl::StatusOr<v1::ClearQuarantineResponse> ClearQuarantine(const std::string& dataset) override {
    v1::ClearQuarantineRequest request;
    request.set_dataset(dataset);
    return Call(&v1::AdminService::Stub::ClearQuarantine, request);
  }

  absl::StatusOr<v1::SetWorkersResponse> SetWorkers(uint32_t count) override {
    v1::SetWorkersRequest request;
    request.set_count(count);
    return Call(&v1::AdminService::Stub::SetWorkers, request);
  }
  absl::StatusOr<v1::ReloadResponse> Reload() override {
    return Call(&v1::AdminService::Stub::Reload, v1::ReloadRequest());
  }

  absl::StatusOr<v1::DrainResponse> Drain(
      const v1::DrainRequest& request, base::Duration deadline,
      const std::function<void(const v1::DrainResponse&)>& update) override {
    grpc::ClientContext context;
    const auto patience = deadline.count() > 0 ? deadline : base::Duration(kIndexPatience);
    context.set_deadline(std::chrono::system_clock::now() + patience);
    const auto reader = stub_->Drain(&context, request);
    v1::DrainResponse last;
    while (reader->Read(&last)) update(last);
    const grpc::Status end = reader->Finish();
    // The requested deadline is not an error: the result says how many sessions are left.
    if (end.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && last.sessions_left() > 0)
      return last;
    PENSTOCK_RETURN_IF_ERROR(InWords(end));
    return last;
  }

  absl::Status WatchStatus(
      const v1::WatchStatusRequest& request,
      const std::function<bool(const v1::WatchStatusResponse&)>& update) override {
    grpc::ClientContext context;
    const auto reader = stub_->WatchStatus(&context, request);
    v1::WatchStatusResponse now;
    while (reader->Read(&now)) {
      if (update(now)) continue;
      context.TryCancel();
      (void)reader->Finish();
      return absl::OkStatus();
    }
    return InWords(reader->Finish());
  }

  absl::Status GetTrace(uint32_t milliseconds,
                        const std::function<void(const v1::GetTraceResponse&)>& piece) override {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(milliseconds) + kTracePatience);
    v1::GetTraceRequest request;
    request.set_duration_ms(milliseconds);
    const auto reader = stub_->GetTrace(&context, request);
    for (v1::GetTraceResponse message; reader->Read(&message);) piece(message);
    return InWords(reader->Finish());
  }

  absl::StatusOr<v1::DigestDatasetResponse> DigestDataset(const std::string& dataset) override {
    v1::DigestDatasetRequest request;
    request.set_dataset(dataset);
    return Call(&v1::AdminService::Stub::DigestDataset, request, kIndexPatience);
  }

  absl::StatusOr<v1::IndexDatasetResponse> IndexDataset(
      const v1::IndexDatasetRequest& request,
      const std::function<bool(const v1::IndexDatasetResponse&)>& progress) override {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kIndexPatience);
    const auto reader = stub_->IndexDataset(&context, request);
    v1::IndexDatasetResponse last;
    bool goes_on = true;
    while (reader->Read(&last)) {
      if (!goes_on || (goes_on = progress(last))) continue;
      context.TryCancel();
    }
    PENSTOCK_RETURN_IF_ERROR(InWords(reader->Finish()));
    return last;
  }

 private:
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*,
                                                                               const Request&,
                                                                               Response*),
                                const Request& request,
                                std::optional<base::Duration> patience = std::nullopt) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience.value_or(patience_));
    Response response;
    PENSTOCK_RETURN_IF_ERROR(InWords((stub_.get()->*method)(&context, request, &response)));
    return response;
  }

  absl::Status InWords(const grpc::Status& status) const {
    switch (status.error_code()) {
      case grpc::StatusCode::UNAVAILABLE:
        // Then the daemon has answered, and says that something else is away, such as a store.
        if (channel_->GetState(false) == GRPC_CHANNEL_READY)
          return absl::UnavailableError(status.error_message());
        if (IsBarred()) return shm::NotAnOperator(address_, ::geteuid());
        return absl::UnavailableError(absl::StrCat("the daemon at ", address_,
                                                   " does not accept calls (",
                                                   status.error_message(), "); ", advice_));
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return absl::DeadlineExceededError(
            absl::StrCat("the daemon at ", address_,
                         " did not answer in time; its log may say what keeps it busy"));
      case grpc::StatusCode::UNIMPLEMENTED:
        return absl::UnimplementedError(absl::StrCat(
            "the daemon at ", address_, " does not support this command; upgrade the daemon"));
      default:  // the daemon's own message
        return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                            status.error_message());
    }
  }

  // Whether the daemon answers, but not to this user.
  bool IsBarred() const {
    return absl::StartsWith(address_, "/") && shm::IsForOperators(address_) &&
           posix::HangsUpAtOnce(address_).value_or(false);
  }

  const std::string address_;
  const std::string advice_;                      // what to look at if it does not answer
  const std::shared_ptr<grpc::Channel> channel_;  // shared with the stub
  const std::unique_ptr<v1::AdminService::Stub> stub_;
};

}  // namespace

std::unique_ptr<AdminClient> AdminClient::Make(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  return Make(grpc::CreateCustomChannel(absl::StrCat("unix:", address),
                                        grpc::InsecureChannelCredentials(), arguments),
              address, "check whether it still runs");
}

std::unique_ptr<AdminClient> AdminClient::Make(const std::shared_ptr<grpc::Channel>& channel,
                                               const std::string& address,
                                               const std::string& advice) {
  return std::make_unique<GrpcAdminClient>(channel, address, advice);
}

}  // namespace penstock::ctl
