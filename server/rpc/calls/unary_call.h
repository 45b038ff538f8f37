// One unary call: answered once, by the controller or by its cancellation, whichever is first, when
// it is its turn. Any thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/shm/protocol.h"
#include "server/rpc/access/audit.h"
#include "server/rpc/access/gate.h"
#include "server/rpc/calls/calls.h"

namespace penstock::rpc {

// absl's codes are gRPC's.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// What the gate judges a call by. The ticket is the context's, and lives as long.
inline Gate::Call CallOf(const grpc::CallbackServerContext& context, std::string what) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(shm::kTicketMetadataKey);
  std::optional<absl::string_view> ticket;
  if (found != metadata.end()) ticket.emplace(found->second.data(), found->second.size());
  return {.peer = context.peer(), .ticket = ticket, .what = std::move(what)};
}

template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // Owned by gRPC until OnDone, and by the controller's callback until it was called: the latter
  // may come after the call was cancelled.
  static std::shared_ptr<UnaryCall> Make(Calls& calls, Response* response, AuditedCall audited) {
    std::shared_ptr<UnaryCall> call(new UnaryCall(calls, response, std::move(audited)));
    call->self_ = call;
    return call;
  }

  void Answer(absl::StatusOr<Response> answer) {
    if (answered_.exchange(true)) return;
    audited_.Ended(answer.status());
    // The response lives at least until Finish, which only these lines reach.
    if (answer.ok()) *response_ = *std::move(answer);
    status_ = ToGrpc(answer.status());
    FinishInTurn();
  }

  // The same, where whoever asks is told less than the book: `how` it really ended.
  void AnswerInstead(const absl::Status& how, Response answer) {
    if (answered_.exchange(true)) return;
    audited_.Ended(how);
    *response_ = std::move(answer);
    FinishInTurn();
  }

  // Whether it was answered, by its cancellation perhaps: nobody waits for more.
  bool answered() const { return answered_.load(); }

  // Nobody waits for the answer any more, and it for no turn.
  void OnCancel() override {
    {
      base::MutexLock lock(mutex_);
      cancelled_ = true;
      if (alarm_.has_value()) alarm_->Cancel();
    }
    Answer(absl::CancelledError("the call was cancelled"));
  }
  void OnDone() override {
    under_way_.Done();
    self_.reset();
  }

 private:
  UnaryCall(Calls& calls, Response* response, AuditedCall audited)
      : under_way_(calls), response_(response), audited_(std::move(audited)) {}

  void FinishInTurn() {
    const auto lives = self_;  // the alarm may be quicker than this function
    {
      base::MutexLock lock(mutex_);
      const bool is_refusal = status_.error_code() == grpc::RESOURCE_EXHAUSTED;
      const base::Duration wait =
          cancelled_ ? base::Duration::zero() : under_way_.TakeAnswer(is_refusal);
      if (wait > base::Duration::zero()) {
        alarm_.emplace();
        alarm_->Set(std::chrono::system_clock::now() + wait, [this, is_refusal](bool came) {
          if (!came) under_way_.GiveAnswerBack(is_refusal);
          Finish(status_);
        });
        return;
      }
    }
    Finish(status_);
  }

  CallUnderWay under_way_;
  Response* const response_;
  AuditedCall audited_;  // of whoever answers
  std::atomic<bool> answered_{false};
  grpc::Status status_;
  base::Mutex mutex_;
  bool cancelled_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Alarm> alarm_ PENSTOCK_GUARDED_BY(mutex_);  // the answer waits for its turn
  std::shared_ptr<UnaryCall> self_;
};

// A callback for the controller that answers `call` with what it is given.
template <typename Response>
auto AnswerOf(std::shared_ptr<UnaryCall<Response>> call) {
  return [call = std::move(call)](absl::StatusOr<Response> answer) {
    call->Answer(std::move(answer));
  };
}

}  // namespace penstock::rpc
