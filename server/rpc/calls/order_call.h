// One SendOrder call: passes its messages one at a time to the controller.
// **Ownership**: owned by gRPC, which calls it from one thread at a time.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <utility>

#include "penstock/v1/feed.pb.h"
#include "server/rpc/access/gate.h"
#include "server/rpc/calls/calls.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

class OrderCall final : public grpc::ServerReadReactor<v1::SendOrderRequest> {
 public:
  // Deletes itself when gRPC is done. **Requires**: the controller outlives it.
  static OrderCall* Start(Controller& controller, Calls& calls, Gate::Judged judged,
                          v1::SendOrderResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  OrderCall(Controller& controller, Calls& calls, Gate::Judged judged,
            v1::SendOrderResponse* response)
      : under_way_(calls, judged.audited.user()),
        controller_(controller),
        permit_(std::move(judged.permit)),
        audited_(std::move(judged.audited)),
        response_(response) {}
  void EndWith(const absl::Status& status);
  absl::Status Take(const v1::SendOrderRequest& message);
  absl::Status End();

  CallUnderWay under_way_;
  Controller& controller_;
  const absl::StatusOr<Permit> permit_;
  AuditedCall audited_;
  v1::SendOrderResponse* const response_;
  v1::SendOrderRequest message_;          // owned by gRPC during a read
  std::unique_ptr<IncomingOrder> order_;  // set by the first message
};

}  // namespace penstock::rpc
