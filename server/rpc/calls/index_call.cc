#include "server/rpc/calls/index_call.h"

#include <utility>

#include "common/base/clock.h"
#include "server/rpc/calls/unary_call.h"
#include "server/rpc/domain_to_message.h"

namespace penstock::rpc {
namespace {

constexpr base::Duration kLongestUnread = std::chrono::seconds(60);

}  // namespace

std::shared_ptr<IndexCall> IndexCall::Make(Calls& calls, AuditedCall audited) {
  std::shared_ptr<IndexCall> call(new IndexCall(calls, std::move(audited)));
  call->self_ = call;
  return call;
}

void IndexCall::Progress(const absl::StatusOr<IndexProgress>& progress) {
  {
    base::MutexLock lock(mutex_);
    if (progress.ok() && (progress->done || progress->exported)) AwaitRoom();
    if (end_.has_value()) return;
    const bool is_index_next = next_.has_value() && next_->has_exported();
    if (progress.ok() && !is_index_next) next_ = MessageOf(*progress);
    if (!progress.ok() || progress->done) end_ = progress.status();
  }
  GoOn();
}

void IndexCall::AwaitRoom() {
  const base::TimePoint limit = base::Now() + kLongestUnread;
  const auto is_full = [&]() PENSTOCK_REQUIRES(mutex_) {
    return next_.has_value() && next_->has_exported() && !end_.has_value();
  };
  while (is_full() && base::Now() < limit) room_.WaitFor(mutex_, std::chrono::seconds(1));
  if (!is_full()) return;
  next_.reset();
  cancelled_.store(true);
  end_ = absl::DeadlineExceededError("the index was not read within a minute");
}

void IndexCall::OnWriteDone(bool ok) {
  {
    base::MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) {  // the client is gone
      next_.reset();
      if (!end_.has_value()) end_ = absl::CancelledError("the call was cancelled");
      room_.NotifyAll();
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
    room_.NotifyAll();
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
      room_.NotifyAll();
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
