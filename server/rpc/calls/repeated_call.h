// A call that is answered again and again: each answer is asked for, written, and after a pause the
// next one is asked for. A consumer that reads slowly is asked for less. The server's end does not
// wait for such calls: they have none of their own. Any thread.
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
    kSkipAgain,  // the same, and nothing is written now
    kEnd,        // this was the last
  };
  struct Options {
    AuditedCall audited = {};
    std::chrono::milliseconds pause{1000};
    std::function<void(Callback<Response>)> ask;
    std::function<Then(const Response&)> judge = [](const Response&) { return Then::kAgain; };
  };

  // Owned by gRPC until OnDone, and by what it waits for.
  static std::shared_ptr<RepeatedCall> Make(Options options) {
    std::shared_ptr<RepeatedCall> call(new RepeatedCall(std::move(options)));
    call->self_ = call;
    return call;
  }

  void Begin() { Ask(); }
  // In place of Begin.
  void Refuse(const absl::Status& why) { End(why); }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("nobody reads any more"));
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

  // A call that is cancelled meanwhile ends the pause at once.
  void Pause() {
    {
      base::MutexLock lock(mutex_);
      if (!cancelled_) {
        // Not by Self(): the alarm keeps what it called, and is part of this. A pending alarm's
        // call is not finished, and so still gRPC's.
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

  // One step is under way at a time, and only a step's end comes here: once.
  void End(const absl::Status& status) {
    options_.audited.Ended(status);
    this->Finish(ToGrpc(status));
  }

  Options options_;
  grpc::Alarm alarm_;
  Response response_;  // gRPC's while it is written
  bool last_ = false;
  base::Mutex mutex_;
  bool cancelled_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::shared_ptr<RepeatedCall> self_;
};

}  // namespace penstock::rpc
