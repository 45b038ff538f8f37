#include "server/rpc/calls/index_call.h"

#include <utility>

#include "server/rpc/calls/unary_call.h"
#include "server/rpc/domain_to_message.h"

namespace penstock::rpc {

std::shared_ptr<IndexCall> IndexCall::Make(Calls& calls, AuditedCall audited) {
  std::shared_ptr<IndexCall> call(new IndexCall(calls, std::move(audited)));
  call->self_ = call;
  return call;
}

void IndexCall::Progress(const absl::StatusOr<IndexProgress>& progress) {
  {
    base::MutexLock lock(mutex_);
    if (end_.has_value()) return;
    if (progress.ok()) next_ = MessageOf(*progress);
    if (!progress.ok() || progress->done) end_ = progress.status();
  }
  GoOn();
}

void IndexCall::OnWriteDone(bool ok) {
  {
    base::MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) {  // the client is gone
      next_.reset();
      if (!end_.has_value()) end_ = absl::CancelledError("the call was cancelled");
    }
  }
  if (!ok) cancelled_.store(true);
  GoOn();
}

void IndexCall::OnCancel() {
  cancelled_.store(true);
  {
    base::MutexLock lock(mutex_);
    next_.reset();
    if (!end_.has_value()) end_ = absl::CancelledError("the call was cancelled");
  }
  GoOn();
}

void IndexCall::GoOn() {
  std::optional<absl::Status> end;
  {
    base::MutexLock lock(mutex_);
    if (writing_ || finished_) return;
    if (next_.has_value()) {
      writing_ = true;
      in_flight_ = *std::exchange(next_, std::nullopt);
    } else if (end_.has_value()) {
      finished_ = true;
      end = end_;
    } else {
      return;
    }
  }
  if (end.has_value()) {
    audited_.Ended(*end);
    Finish(ToGrpc(*end));
  } else {
    StartWrite(&in_flight_);
  }
}

}  // namespace penstock::rpc
