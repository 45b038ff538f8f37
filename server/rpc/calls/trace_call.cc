#include "server/rpc/calls/trace_call.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/calls/unary_call.h"

namespace penstock::rpc {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr uint32_t kUsualMs = 5'000, kLeastMs = 100, kMostMs = 60'000;

}  // namespace

absl::StatusOr<base::Duration> TraceLengthFrom(const v1::GetTraceRequest& message) {
  const uint32_t ms = message.duration_ms() == 0 ? kUsualMs : message.duration_ms();
  if (ms < kLeastMs || ms > kMostMs)
    return absl::InvalidArgumentError(absl::StrCat("duration_ms is ", ms, "; wanted ", kLeastMs,
                                                   " to ", kMostMs, ", or 0 for ", kUsualMs));
  return std::chrono::milliseconds(ms);
}

std::shared_ptr<TraceCall> TraceCall::Make(AuditedCall audited) {
  std::shared_ptr<TraceCall> call(new TraceCall(std::move(audited)));
  call->self_ = call;
  return call;
}

void TraceCall::Begin(Controller& controller, const absl::StatusOr<Permit>& permit,
                      const absl::StatusOr<base::Duration>& length) {
  if (!permit.ok() || !length.ok()) {
    if (!answered_.exchange(true)) End(permit.ok() ? length.status() : permit.status());
    return;
  }
  controller.TakeTrace(
      *permit, *length, [call = self_] { return call->cancelled_.load(); },
      [call = self_](absl::StatusOr<std::unique_ptr<TraceSource>> text) {
        if (call->answered_.exchange(true)) return;
        if (!text.ok()) return call->End(text.status());
        call->text_ = *std::move(text);
        call->Send();
      });
}

void TraceCall::OnWriteDone(bool ok) {
  if (!ok) cancelled_.store(true);
  Send();
}

void TraceCall::Send() {
  if (cancelled_.load()) return End(absl::CancelledError("the call was cancelled"));
  *message_.mutable_text() = text_->Next(kPiece);
  message_.set_dropped(text_->dropped());
  if (message_.text().empty()) return End(absl::OkStatus());
  StartWrite(&message_);
}

void TraceCall::End(const absl::Status& status) {
  audited_.Ended(status);
  Finish(ToGrpc(status));
}

}  // namespace penstock::rpc
