// One GetTrace call: waits for the trace, then sends its text in pieces, one message in flight. A
// call that is cancelled ends the trace: so does the server's end, which does not wait for it. Any
// thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <utility>

#include "common/base/clock.h"
#include "penstock/v1/admin.pb.h"
#include "server/rpc/access/access.h"
#include "server/rpc/access/audit.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

// InvalidArgument: shorter or longer than can be.
absl::StatusOr<base::Duration> TraceLengthFrom(const v1::GetTraceRequest& message);

class TraceCall final : public grpc::ServerWriteReactor<v1::GetTraceResponse> {
 public:
  // Owned by gRPC until OnDone, and by the controller's callback until it was called.
  static std::shared_ptr<TraceCall> Make(AuditedCall audited);
  // Once, after Make; the controller outlives the call.
  void Begin(Controller& controller, const absl::StatusOr<Permit>& permit,
             const absl::StatusOr<base::Duration>& length);

  void OnWriteDone(bool ok) override;
  void OnCancel() override {
    cancelled_.store(true);
    if (!answered_.exchange(true)) End(absl::CancelledError("the call was cancelled"));
  }
  void OnDone() override { self_.reset(); }

 private:
  explicit TraceCall(AuditedCall audited) : audited_(std::move(audited)) {}
  void Send();
  void End(const absl::Status& status);

  AuditedCall audited_;                // of whoever ends the call
  std::atomic<bool> answered_{false};  // the trace is there, or is not waited for any more
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<TraceSource> text_;  // from the first message on; one step is under way at a time
  v1::GetTraceResponse message_;       // gRPC's while it is written
  std::shared_ptr<TraceCall> self_;
};

}  // namespace penstock::rpc
