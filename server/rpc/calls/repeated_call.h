// A call that is answered repeatedly: it requests an answer, writes it, pauses, and starts again.
// Slow readers cause fewer requests. The server's shutdown doesn't wait for such calls.
// **Thread safety**: any thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "server/rpc/calls/unary_call.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

template <typename Response>
class RepeatedCall final : public grpc::ServerWriteReactor<Response> {
 public:
  enum class Then {
    kAgain,      // after the pause
    kSkipAgain,  // after the pause, without writing now
    kEnd,        // this was the last one
  };
  struct Options {
    AuditedCall audited = {};
    std::chrono::milliseconds pause{1000};
    std::function<void(Callback<Response>)> ask = {};
    std::function<Then(const Response&)> judge = [](const Response&) { return Then::kAgain; };
  };

  // Owned by gRPC until OnDone, and by pending operations.
  static std::shared_ptr<RepeatedCall> Make(Options options) {
    std::shared_ptr<RepeatedCall> call(new RepeatedCall(std::move(options)));
    call->self_ = call;
    return call;
  }

  void Begin() { Ask(); }
  // Call it instead of Begin.
  void Refuse(const absl::Status& why) { End(why); }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the client stopped reading"));
    if (last_) return End(absl::OkStatus());
    Pause();
  }
  void OnCancel() override {
    {
      base::MutexLock lock(mutex_);
      cancelled_ = true;
    }
    alarm_.Cancel();
  }
  void OnDone() override { self_.reset(); }

 private:
  explicit RepeatedCall(Options options) : options_(std::move(options)) {}

  std::shared_ptr<RepeatedCall> Self() { return self_; }

  void Ask() {
    options_.ask(
        [self = Self()](absl::StatusOr<Response> answer) { self->Say(std::move(answer)); });
  }

  void Say(absl::StatusOr<Response> answer) {
    if (!answer.ok()) return End(answer.status());
    response_ = *std::move(answer);
    const Then then = options_.judge(response_);
    if (IsCancelled()) return End(absl::CancelledError("the call was cancelled"));
    if (then == Then::kSkipAgain) return Pause();
    last_ = then == Then::kEnd;
    this->StartWrite(&response_);
  }

  // Cancellation ends the pause at once.
  void Pause() {
    {
      base::MutexLock lock(mutex_);
      if (!cancelled_) {
        // Doesn't use Self(), because the alarm keeps its callback and is a member of this. While
        // an alarm is pending, the call is not finished, so gRPC still owns it.
        alarm_.Set(std::chrono::system_clock::now() + options_.pause, [this](bool) {
          if (IsCancelled()) return End(absl::CancelledError("the call was cancelled"));
          Ask();
        });
        return;
      }
    }
    End(absl::CancelledError("the call was cancelled"));
  }

  bool IsCancelled() {
    base::MutexLock lock(mutex_);
    return cancelled_;
  }

  // Only one step is in progress at a time, and only its end leads here, so this runs once.
  void End(const absl::Status& status) {
    options_.audited.Ended(status);
    this->Finish(ToGrpc(status));
  }

  Options options_;
  grpc::Alarm alarm_;
  Response response_;  // owned by gRPC during a write
  bool last_ = false;
  base::Mutex mutex_;
  bool cancelled_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::shared_ptr<RepeatedCall> self_;
};

}  // namespace penstock::rpc
