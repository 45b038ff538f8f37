#include "server/rpc/drain_call.h"

#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <utility>

#include "common/base/clock.h"
#include "server/rpc/repeated_call.h"

namespace penstock::rpc {
namespace {

using Call = RepeatedCall<v1::DrainResponse>;

constexpr std::chrono::milliseconds kLookEvery(200);
constexpr std::chrono::seconds kSayEvery(1);

// Lets through what is news, and once a second what is not.
class News {
 public:
  Call::Then Judge(const v1::DrainResponse& now) {
    if (now.done()) return Call::Then::kEnd;
    const base::TimePoint time = base::SteadyClock().Now();
    const bool same = google::protobuf::util::MessageDifferencer::Equals(now, last_);
    if (same && time - said_at_ < kSayEvery) return Call::Then::kSkipAgain;
    last_ = now;
    said_at_ = time;
    return Call::Then::kAgain;
  }

 private:
  v1::DrainResponse last_;
  base::TimePoint said_at_{};
};

}  // namespace

grpc::ServerWriteReactor<v1::DrainResponse>* BeginDrain(Controller& controller,
                                                        const v1::DrainRequest& request,
                                                        const absl::Status& may) {
  Call::Options options;
  options.pause = kLookEvery;
  // The first time it is told to drain, then only asked how far it is.
  options.ask = [&controller, cancel = request.cancel(),
                 told = std::make_shared<bool>(false)](Callback<v1::DrainResponse> done) {
    if (std::exchange(*told, true)) return controller.GetDraining(std::move(done));
    controller.SetDraining(!cancel, std::move(done));
  };
  options.judge = [news = std::make_shared<News>()](const v1::DrainResponse& now) {
    return news->Judge(now);
  };
  const auto call = Call::Make(std::move(options));
  if (may.ok()) {
    call->Begin();
  } else {
    call->Refuse(may);
  }
  return call.get();
}

}  // namespace penstock::rpc
