#include "client/src/connection/rpc.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/src/core/fork.h"
#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/admin.grpc.pb.h"
#include "penstock/v1/feed.grpc.pb.h"

namespace penstock::client {
namespace {

constexpr int kMaxAnswerBytes = 64 << 20;  // a dataset may have many classes
constexpr int64_t kUnused = -1;

// How long a call tries again while the queue of the daemon's socket is full, and how often.
constexpr base::Duration kQueueFullFor = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kTryAgainAfter(50);

// Fork generation of the process that first used gRPC here. Global, because gRPC's state is.
std::atomic<int64_t> user_of_grpc{kUnused};

// Call it before the first use: a process that is forked meanwhile then has no part of it, or is
// refused.
void ClaimGrpc() {
  int64_t unused = kUnused;
  user_of_grpc.compare_exchange_strong(unused, WatchForks(), std::memory_order_relaxed);
}

// Uses a subchannel pool of its own, so that a channel to a restarted daemon does not inherit the
// back-off of the previous one.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kTryAgainAfter.count());
  return grpc::CreateCustomChannel(absl::StrCat("unix:", address),
                                   grpc::InsecureChannelCredentials(), arguments);
}

// Whether the daemon had no room for our connection, so that the call never reached it. With a full
// queue, connect(2) fails with EAGAIN, which gRPC takes for a connection that is being made; its
// first read then fails.
bool QueueWasFull(const absl::Status& status) {
  return absl::IsUnavailable(status) &&
         absl::StrContains(status.message(), "recvmsg:Invalid argument");
}

absl::Status QueueIsFull(const std::string& address) {
  return absl::UnavailableError(absl::StrCat(
      address, ": the daemon accepts no connections, because its queue is full; another process ",
      "may be connecting without end"));
}

absl::Status ToAbsl(const grpc::Status& status, const std::string& address,
                    base::Duration timeout) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());  // the same numbers
  switch (code) {
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(absl::StrCat(
          "the daemon at ", address, " cannot serve this now: ", status.error_message()));
    case absl::StatusCode::kCancelled:  // not by us
      return absl::UnavailableError(
          absl::StrCat("the daemon at ", address, " cancelled the call, as it does when it stops"));
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(absl::StrCat(
          "the daemon at ", address, " did not answer within ",
          std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(), " ms"));
    case absl::StatusCode::kUnimplemented:
      return absl::FailedPreconditionError(absl::StrCat(
          "the daemon at ", address, " does not support this call: ", status.error_message(),
          "; install the same version of Penstock for daemon and client"));
    default:
      return absl::Status(code, status.error_message());
  }
}

using FeedCalls = v1::FeedService::StubInterface::async_interface;
using AdminCalls = v1::AdminService::StubInterface::async_interface;

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isprint);
}

}  // namespace

struct Rpc::Impl {
  template <typename Async, typename Request, typename Response>
  using Method = void (Async::*)(grpc::ClientContext*, const Request*, Response*,
                                 std::function<void(grpc::Status)>);

  // The status of a call, set by one of gRPC's threads.
  class Ending {
   public:
    void Set(const grpc::Status& status) {
      const base::MutexLock lock(mutex_);
      status_ = status;
      answered_.NotifyAll();
    }

    // Calls `meanwhile` every 100 ms until the call has ended. It does end, because it has a
    // deadline.
    template <typename Meanwhile>
    grpc::Status Await(Meanwhile meanwhile) {
      for (;;) {
        {
          const base::MutexLock lock(mutex_);
          if (!status_) answered_.WaitFor(mutex_, std::chrono::milliseconds(100));
          if (status_) return *status_;
        }
        meanwhile();
      }
    }

   private:
    base::Mutex mutex_;
    base::CondVar answered_;
    std::optional<grpc::Status> status_ PENSTOCK_GUARDED_BY(mutex_);
  };

  Impl(const std::string& at, const std::string& with, std::function<bool()> when)
      : address(at),
        ticket(with),
        interrupted(std::move(when)),
        channel(MakeChannel(at)),
        feed(v1::FeedService::NewStub(channel)),
        admin(v1::AdminService::NewStub(channel)) {}

  template <typename Response, typename Async, typename Request>
  absl::StatusOr<Response> Call(std::type_identity_t<Async>* stub,
                                Method<Async, Request, Response> method, const Request& request,
                                base::Duration timeout) {
    return Call<Response>(stub, method, request, timeout, interrupted);
  }

  // The call is cancelled once `stop` returns true; empty: never. Waits for room in the daemon's
  // queue of connections.
  template <typename Response, typename Async, typename Request>
  absl::StatusOr<Response> Call(std::type_identity_t<Async>* stub,
                                Method<Async, Request, Response> method, const Request& request,
                                base::Duration timeout, const std::function<bool()>& stop) {
    const base::TimePoint first_try = base::Now();
    const base::Duration patience = std::min(timeout, kQueueFullFor);
    for (base::Duration passed(0);; passed = base::Now() - first_try) {
      absl::StatusOr<Response> answer =
          CallOnce<Response>(stub, method, request, timeout - passed, stop);
      if (!QueueWasFull(answer.status())) return answer;
      if (stop && stop()) return absl::CancelledError("the call was interrupted, as asked");
      if (base::Now() - first_try + 2 * kTryAgainAfter > patience) return QueueIsFull(address);
      std::this_thread::sleep_for(kTryAgainAfter);
    }
  }

  template <typename Response, typename Async, typename Request>
  absl::StatusOr<Response> CallOnce(std::type_identity_t<Async>* stub,
                                    Method<Async, Request, Response> method, const Request& request,
                                    base::Duration timeout, const std::function<bool()>& stop) {
    grpc::ClientContext context;
    Prepare(context, timeout);
    Response response;
    Ending ending;
    (stub->*method)(&context, &request, &response,
                    [&](const grpc::Status& status) { ending.Set(status); });
    bool stopped = false;
    const grpc::Status status = ending.Await([&] {
      if (stopped || !stop || !stop()) return;
      stopped = true;
      context.TryCancel();
    });
    if (stopped && status.error_code() == grpc::StatusCode::CANCELLED)
      return absl::CancelledError("the call was interrupted, as its caller asked");
    if (!status.ok()) return ToAbsl(status, address, timeout);
    return response;
  }

  void Prepare(grpc::ClientContext& context, base::Duration timeout) const {
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    context.AddMetadata(shm::kTicketMetadataKey, ticket);
    // As OpenTelemetry passes a trace to a process. The daemon ignores what is invalid; gRPC
    // refuses a call with other characters.
    const char* const trace = std::getenv("TRACEPARENT");
    if (trace != nullptr && IsPrintable(trace)) context.AddMetadata(shm::kTraceMetadataKey, trace);
  }

  const std::string address;
  const std::string ticket;
  const std::function<bool()> interrupted;
  const std::shared_ptr<grpc::Channel> channel;  // shared with the stubs
  const std::unique_ptr<v1::FeedService::Stub> feed;
  const std::unique_ptr<v1::AdminService::Stub> admin;
};

absl::Status Rpc::CheckProcess() {
  const int64_t user = user_of_grpc.load(std::memory_order_relaxed);
  if (user == kUnused || user == WatchForks()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this process was forked from one that had already connected to a daemon; it cannot make a "
      "connection of its own, because gRPC does not survive a fork. Start it with "
      "multiprocessing's spawn or forkserver method, or fork before the first loader is used");
}

Rpc::Rpc(const std::string& address, const std::string& ticket, std::function<bool()> interrupted) {
  PENSTOCK_CHECK(CheckProcess().ok());
  ClaimGrpc();
  impl_ = std::make_unique<Impl>(address, ticket, std::move(interrupted));
}

Rpc::~Rpc() = default;

absl::StatusOr<v1::GetVersionResponse> Rpc::GetVersion(base::Duration timeout) {
  return impl_->Call<v1::GetVersionResponse>(impl_->feed->async(), &FeedCalls::GetVersion,
                                             v1::GetVersionRequest(), timeout);
}

absl::StatusOr<v1::DescribeDatasetResponse> Rpc::DescribeDataset(
    const v1::DescribeDatasetRequest& request, base::Duration timeout) {
  return impl_->Call<v1::DescribeDatasetResponse>(impl_->feed->async(), &FeedCalls::DescribeDataset,
                                                  request, timeout);
}

absl::StatusOr<v1::SendOrderResponse> Rpc::SendOrder(
    const std::function<std::optional<v1::SendOrderRequest>()>& part, base::Duration timeout) {
  grpc::ClientContext context;
  impl_->Prepare(context, timeout);
  v1::SendOrderResponse response;
  const auto writer = impl_->feed->SendOrder(&context, &response);
  bool heard = true;  // false once the daemon has answered; its status says why
  for (auto next = part(); next && heard; next = part()) heard = writer->Write(*next);
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (!status.ok()) return ToAbsl(status, impl_->address, timeout);
  return response;
}

absl::StatusOr<v1::OpenSessionResponse> Rpc::OpenSession(const v1::OpenSessionRequest& request,
                                                         base::Duration timeout) {
  return impl_->Call<v1::OpenSessionResponse>(impl_->feed->async(), &FeedCalls::OpenSession,
                                              request, timeout);
}

absl::StatusOr<v1::DescribeSamplesResponse> Rpc::DescribeSamples(
    const v1::DescribeSamplesRequest& request, base::Duration timeout) {
  return impl_->Call<v1::DescribeSamplesResponse>(impl_->feed->async(), &FeedCalls::DescribeSamples,
                                                  request, timeout);
}

absl::StatusOr<v1::GetProgressResponse> Rpc::GetProgress(uint64_t session_id,
                                                         base::Duration timeout) {
  v1::GetProgressRequest request;
  request.set_session_id(session_id);
  return impl_->Call<v1::GetProgressResponse>(impl_->feed->async(), &FeedCalls::GetProgress,
                                              request, timeout);
}

absl::StatusOr<v1::ListSlabsResponse> Rpc::ListSlabs(uint64_t session_id, base::Duration timeout) {
  v1::ListSlabsRequest request;
  request.set_session_id(session_id);
  return impl_->Call<v1::ListSlabsResponse>(impl_->feed->async(), &FeedCalls::ListSlabs, request,
                                            timeout);
}

absl::Status Rpc::ReportUndecodable(const v1::ReportUndecodableRequest& request,
                                    base::Duration timeout) {
  return impl_
      ->Call<v1::ReportUndecodableResponse>(impl_->feed->async(), &FeedCalls::ReportUndecodable,
                                            request, timeout, {})
      .status();
}

absl::Status Rpc::CloseSession(uint64_t session_id, base::Duration timeout) {
  v1::CloseSessionRequest request;
  request.set_session_id(session_id);
  return impl_
      ->Call<v1::CloseSessionResponse>(impl_->feed->async(), &FeedCalls::CloseSession, request,
                                       timeout)
      .status();
}

absl::StatusOr<v1::ListQuarantineResponse> Rpc::ListQuarantine(
    const v1::ListQuarantineRequest& request, base::Duration timeout) {
  return impl_->Call<v1::ListQuarantineResponse>(impl_->admin->async(), &AdminCalls::ListQuarantine,
                                                 request, timeout);
}

}  // namespace penstock::client
