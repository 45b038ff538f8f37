#include "server/rpc/calls/order_call.h"

#include "server/rpc/calls/unary_call.h"
#include "server/rpc/message_to_domain.h"

namespace penstock::rpc {

OrderCall* OrderCall::Start(Controller& controller, Calls& calls, Gate::Judged judged,
                            v1::SendOrderResponse* response) {
  auto* call = new OrderCall(controller, calls, std::move(judged), response);
  absl::Status may = call->permit_.status();
  if (may.ok()) may = call->under_way_.Admit();
  if (may.ok()) {
    call->StartRead(&call->message_);
  } else {
    call->EndWith(may);
  }
  return call;
}

void OrderCall::EndWith(const absl::Status& status) {
  audited_.Ended(status);
  Finish(ToGrpc(status));
}

// Not ok: the client has sent its last message, or is gone and won't see the answer.
void OrderCall::OnReadDone(bool ok) {
  const absl::Status status = ok ? Take(message_) : End();
  if (ok && status.ok()) {
    StartRead(&message_);
  } else {
    order_.reset();
    EndWith(status);
  }
}

absl::Status OrderCall::Take(const v1::SendOrderRequest& message) {
  if (order_ == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t length, OrderLengthFrom(message));
    PENSTOCK_ASSIGN_OR_RETURN(order_, controller_.ReceiveOrder(*permit_, length));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const auto samples, OrderChunkFrom(message));
  return order_->Add(samples);
}

absl::Status OrderCall::End() {
  if (order_ == nullptr) return absl::InvalidArgumentError("an order without a message was sent");
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t name, order_->Finish());
  response_->set_order(name);
  return absl::OkStatus();
}

}  // namespace penstock::rpc
