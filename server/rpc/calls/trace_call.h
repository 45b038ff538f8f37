// One GetTrace call: waits for the trace, then sends its text in pieces, with one message in
// flight. Cancelling the call, or the server's shutdown, ends the trace.
// **Thread safety**: any thread.
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

// **Errors**: InvalidArgument if it is too short or too long.
absl::StatusOr<base::Duration> TraceLengthFrom(const v1::GetTraceRequest& message);

class TraceCall final : public grpc::ServerWriteReactor<v1::GetTraceResponse> {
 public:
  // Owned by gRPC until OnDone, and by the controller's callback until it was called.
  static std::shared_ptr<TraceCall> Make(AuditedCall audited);
  // A permit, until gRPC is done with the call.
  void Keep(std::shared_ptr<const void> reservation) { reservation_ = std::move(reservation); }
  // Call it once, after Make. **Requires**: the controller outlives the call.
  void Begin(Controller& controller, const absl::StatusOr<Permit>& permit,
             const absl::StatusOr<base::Duration>& length);

  void OnWriteDone(bool ok) override;
  void OnCancel() override {
    cancelled_.store(true);
    if (!answered_.exchange(true)) End(absl::CancelledError("the call was cancelled"));
  }
  void OnDone() override {
    reservation_.reset();
    self_.reset();
  }

 private:
  explicit TraceCall(AuditedCall audited) : audited_(std::move(audited)) {}
  void Send();
  void End(const absl::Status& status);

  std::shared_ptr<const void> reservation_;
  AuditedCall audited_;                // used by whoever ends the call
  std::atomic<bool> answered_{false};  // the trace has arrived, or is no longer wanted
  std::atomic<bool> cancelled_{false};
  // Set by the first message; only one step is in progress at a time.
  std::unique_ptr<TraceSource> text_;
  v1::GetTraceResponse message_;  // owned by gRPC during a write
  std::shared_ptr<TraceCall> self_;
};

}  // namespace penstock::rpc
