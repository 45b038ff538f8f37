// One unary call: answered once, by the controller or by cancellation, whichever is first, when the
// pacing allows it.
// **Thread safety**: any thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/shm/protocol.h"
#include "server/rpc/access/audit.h"
#include "server/rpc/access/gate.h"
#include "server/rpc/calls/calls.h"
#include "server/session/trace_context.h"

namespace penstock::rpc {

// A message of gRPC's. Clients refuse metadata of more than 8 KiB, in which a byte may take three;
// of a longer message they would see nothing at all. What is wrong begins it, what helps ends it.
inline std::string ToShortMessage(absl::string_view message) {
  constexpr size_t kBegin = 1400, kEnd = 600;
  if (message.size() <= kBegin + kEnd) return std::string(message);
  const auto is_inner = [&](size_t at) { return (message[at] & 0xC0) == 0x80; };  // of UTF-8
  size_t begin = kBegin, end = message.size() - kEnd;
  while (begin > 0 && is_inner(begin)) --begin;
  while (end < message.size() && is_inner(end)) ++end;
  return absl::StrCat(message.substr(0, begin), " [...] ", message.substr(end));
}

// absl's codes equal gRPC's.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      ToShortMessage(status.message()));
}

// What the gate needs to know about a call. The ticket refers to the context.
inline Gate::Call MakeCall(const grpc::CallbackServerContext& context,
                           telemetry::LogField what = {"what", ""}) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(shm::kTicketMetadataKey);
  std::optional<absl::string_view> ticket;
  if (found != metadata.end()) ticket.emplace(found->second.data(), found->second.size());
  return {.peer = context.peer(), .ticket = ticket, .what = std::move(what)};
}

// In which distributed trace the call is made, if the client says so.
inline std::optional<session::TraceContext> FindTraceContext(
    const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(shm::kTraceMetadataKey);
  if (found == metadata.end()) return std::nullopt;
  return session::ParseTraceParent({found->second.data(), found->second.size()});
}

template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // Owned by gRPC until OnDone, and by the controller's callback until it was called, which may be
  // after the call was cancelled.
  static std::shared_ptr<UnaryCall> Make(Calls& calls, Response* response, AuditedCall audited) {
    std::shared_ptr<UnaryCall> call(new UnaryCall(calls, response, std::move(audited)));
    call->self_ = call;
    return call;
  }

  // Whether it may reach the daemon. Call it once, before the controller has it.
  absl::Status Admit() { return under_way_.Admit(); }

  void Answer(absl::StatusOr<Response> answer) {
    if (answered_.exchange(true)) return;
    if (answer.ok()) {
      const absl::Status held = under_way_.HoldAnswer(answer->ByteSizeLong());
      if (!held.ok()) answer = held;
    }
    audited_.Ended(answer.status());
    // The response lives at least until Finish, and only this code calls Finish.
    status_ = ToGrpc(answer.status());
    if (answer.ok()) *response_ = *std::move(answer);
    FinishInTurn();
  }

  // As Answer, for callers who are told less than the audit: `how` is the true result.
  void AnswerInstead(const absl::Status& how, Response answer) {
    if (answered_.exchange(true)) return;
    audited_.Ended(how);
    *response_ = std::move(answer);
    FinishInTurn();
  }

  // Whether it was answered, possibly by cancellation.
  bool answered() const { return answered_.load(); }

  // The client no longer waits, so the answer needs no pacing.
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
      : under_way_(calls, audited.user()), response_(response), audited_(std::move(audited)) {}

  void FinishInTurn() {
    const auto lives = self_;  // the alarm may fire before this function returns
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
  AuditedCall audited_;  // used by whoever answers
  std::atomic<bool> answered_{false};
  grpc::Status status_;
  base::Mutex mutex_;
  bool cancelled_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Alarm> alarm_ PENSTOCK_GUARDED_BY(mutex_);  // delays the response
  std::shared_ptr<UnaryCall> self_;
};

// Makes a callback for the controller that answers `call` with the result.
template <typename Response>
auto AnswerOf(std::shared_ptr<UnaryCall<Response>> call) {
  return [call = std::move(call)](absl::StatusOr<Response> answer) {
    call->Answer(std::move(answer));
  };
}

}  // namespace penstock::rpc
